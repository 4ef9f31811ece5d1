/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_kubernetes_capacity.c - what fits on which nodes, and what is refused because it never will.
 */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "platform/kubernetes/kubernetes_internal.h"

/* ---- a cluster ---------------------------------------------------------------------------------- */

/* JSON with ' for ". */
static json_t *parsed(const char *text)
{
    sw_autofree char *copy = sw_strdup(text);
    json_error_t where;
    json_t *json;

    for (char *at = copy; (at = strchr(at, '\''));)
        *at = '"';
    json = json_loads(copy, 0, &where);
    if (!json)
        fail_msg("%s at %d in %s", where.text, where.column, text);
    return json;
}

#define READY "'conditions':[{'type':'MemoryPressure','status':'False'},{'type':'Ready','status':'True'}]"
#define GPUS(n) "'cpu':'64','memory':'512Gi','pods':'110','nvidia.com/gpu':'" #n "'"
#define NODE(name, labels, spec, amounts)                                                                \
    "{'metadata':{'name':'" name "','labels':{'kubernetes.io/arch':'amd64'" labels "}},"    \
    "'spec':{" spec "},'status':{'allocatable':{" amounts "}," READY "}}"
#define H100 ",'nvidia.com/gpu.product':'NVIDIA-H100-80GB-HBM3','pool':'big','rack':'7'"

/* Two free nodes with 8 H100, one with 4 A100, one tainted, one cordoned, one without GPUs. */
static const char cluster[] = "["
    NODE("a", H100, "", GPUS(8)) "," NODE("b", H100, "", GPUS(8)) ","
    NODE("c", ",'nvidia.com/gpu.product':'NVIDIA-A100-SXM4-80GB'", "", GPUS(4)) ","
    NODE("d", H100, "'taints':[{'key':'team','value':'x','effect':'NoSchedule'}]", GPUS(8)) ","
    NODE("e", H100, "'unschedulable':true,'taints':[{'key':'node.kubernetes.io/unschedulable',"
                    "'effect':'NoSchedule'}]", GPUS(16)) ","
    NODE("f", ",'pool':'cpu'", "", "'cpu':'8','memory':'32Gi','pods':'110'") "]";

struct asked {
    const char *limits, *pod, *options, *gpu_type;
    int nodes;
};

static struct k8s_capacity counted(const struct asked *asked, const char *nodes_text, const char *pods_text,
                                   struct sw_error *err)
{
    sw_auto(json) json_t *nodes = parsed(nodes_text), *pods = pods_text ? parsed(pods_text) : NULL;
    sw_autofree char *text = sw_format("{'spec':{'containers':[{'resources':{'limits':{%s}}}]%s}}",
                                       asked->limits, asked->pod ? asked->pod : "");
    sw_auto(json) json_t *pod = parsed(text), *used = pods ? json_object() : NULL;
    sw_auto(json) json_t *options = asked->options ? parsed(asked->options) : NULL;
    struct sw_plan plan = { .nodes = asked->nodes ? asked->nodes : 1, .options = options,
                            .gpu_type = (char *)asked->gpu_type };
    struct k8s_capacity out;
    const json_t *each;
    size_t i;

    json_array_foreach(pods, i, each)
        k8s_capacity_use(used, each);
    k8s_capacity_count(&plan, pod, nodes, used, &out);
    *err = (struct sw_error){ 0 };
    k8s_capacity_check(&plan, &out, err);
    return out;
}

/* ---- claims -------------------------------------------------------------------------------------- */

static void nodes_are_counted_as_the_scheduler_would(void **state)
{
    static const struct { struct asked asked; int matching, tainted, unselected, not_ready, fit; } cases[] = {
        { { .limits = "'nvidia.com/gpu':'8'" }, 4, 1, 0, 1, 2 },
        { { .limits = "'nvidia.com/gpu':8" }, 4, 1, 0, 1, 2 },
        { { .limits = "'nvidia.com/gpu':'4'" }, 4, 1, 0, 1, 5 },
        { { .limits = "'nvidia.com/gpu':'1','cpu':'40'" }, 4, 1, 0, 1, 3 },
        { { .limits = "'nvidia.com/gpu':'1','memory':'300Gi'" }, 4, 1, 0, 1, 3 },
        { { .limits = "'cpu':'500m'" }, 4, 1, 0, 1, 110 * 3 + 16 },
        { { .limits = "'nvidia.com/gpu':'8'", .pod = ",'nodeSelector':{'pool':'big'}" }, 2, 1, 2, 1, 2 },
        { { .limits = "'nvidia.com/gpu':'1'", .gpu_type = "a100" }, 1, 0, 5, 0, 4 },
        { { .limits = "'nvidia.com/gpu':'1'", .gpu_type = "H100 80GB" }, 2, 1, 2, 1, 16 },
        { { .limits = "'nvidia.com/gpu':'8'", .pod = ",'tolerations':[{'operator':'Exists'}]" },
          5, 0, 0, 1, 3 },
    };

    (void)state;
    for (size_t i = 0; i < SW_COUNT(cases); i++) {
        struct sw_error err;
        struct k8s_capacity seen = counted(&cases[i].asked, cluster, NULL, &err);

        if (seen.nodes != 6 || seen.matching != cases[i].matching || seen.tainted != cases[i].tainted ||
            seen.unselected != cases[i].unselected || seen.not_ready != cases[i].not_ready ||
            seen.fit != cases[i].fit)
            fail_msg("row %zu: %d match, %d tainted, %d unselected, %d not ready, %d fit", i, seen.matching,
                     seen.tainted, seen.unselected, seen.not_ready, seen.fit);
        assert_string_equal(seen.arch, "amd64");
        assert_int_equal(seen.fit_free, -1);
    }
}

/* Of nodes that the job may get, each once; a node that says nothing adds nothing. */
static void architectures_of_gpus_are_read_from_labels(void **state)
{
    static const char nodes[] = "["
        NODE("a", ",'nvidia.com/gpu.compute.major':'9','nvidia.com/gpu.compute.minor':'0'", "", GPUS(8)) ","
        NODE("b", ",'nvidia.com/gpu.compute.major':'9','nvidia.com/gpu.compute.minor':'0'", "", GPUS(8)) ","
        NODE("c", ",'nvidia.com/gpu.compute.major':'8','nvidia.com/gpu.compute.minor':'6','pool':'x'", "",
             GPUS(8)) ","
        NODE("d", H100, "", GPUS(8)) "]";
    static const struct { struct asked asked; const char *archs; } cases[] = {
        { { .limits = "'nvidia.com/gpu':'1'" }, "sm_90, sm_86" },
        { { .limits = "'nvidia.com/gpu':'1'", .pod = ",'nodeSelector':{'pool':'x'}" }, "sm_86" },
        { { .limits = "'nvidia.com/gpu':'1'", .pod = ",'nodeSelector':{'pool':'big'}" }, "" },
        { { .limits = "'cpu':'1'" }, "" },
    };

    (void)state;
    for (size_t i = 0; i < SW_COUNT(cases); i++) {
        sw_auto(sw_buf) struct sw_buf text = SW_BUF_INIT;
        struct sw_error err;
        struct k8s_capacity seen = counted(&cases[i].asked, nodes, NULL, &err);

        sw_gpu_archs_text(&seen.gpu_archs, &text);
        assert_string_equal(sw_buf_text(&text), cases[i].archs);
    }
}

static void a_toleration_opens_the_taint_that_it_names(void **state)
{
    static const struct { const char *toleration; bool opens; } cases[] = {
        { "{'key':'team','value':'x'}", true },
        { "{'key':'team','operator':'Equal','value':'x','effect':'NoSchedule'}", true },
        { "{'key':'team','operator':'Exists'}", true },
        { "{'operator':'Exists'}", true },
        { "{'key':'team','value':'y'}", false },
        { "{'key':'team','operator':'Exists','effect':'NoExecute'}", false },
        { "{'key':'other','operator':'Exists'}", false },
        { "{}", false },
    };

    (void)state;
    for (size_t i = 0; i < SW_COUNT(cases); i++) {
        sw_autofree char *pod = sw_format(",'tolerations':[%s]", cases[i].toleration);
        struct asked asked = { .limits = "'nvidia.com/gpu':'8'", .pod = pod };
        struct sw_error err;

        if (counted(&asked, cluster, NULL, &err).tainted != !cases[i].opens)
            fail_msg("%s", cases[i].toleration);
    }
}

static void required_terms_of_the_affinity_select_nodes(void **state)
{
    static const struct { const char *terms; int selected; } cases[] = {       /* of six */
        { "{'matchExpressions':[{'key':'pool','operator':'In','values':['big','x']}]}", 4 },
        { "{'matchExpressions':[{'key':'pool','operator':'NotIn','values':['big']}]}", 2 },
        { "{'matchExpressions':[{'key':'pool','operator':'Exists'}]}", 5 },
        { "{'matchExpressions':[{'key':'pool','operator':'DoesNotExist'}]}", 1 },
        { "{'matchExpressions':[{'key':'rack','operator':'Gt','values':['6']}]}", 4 },
        { "{'matchExpressions':[{'key':'rack','operator':'Lt','values':['7']}]}", 0 },
        { "{'matchExpressions':[{'key':'pool','operator':'Later'}]}", 6 },
        { "{'matchFields':[{'key':'metadata.name','operator':'In','values':['a']}]}", 1 },
        { "{'matchExpressions':[{'key':'pool','operator':'Exists'},"
          "{'key':'rack','operator':'DoesNotExist'}]}", 1 },
        { "{'matchExpressions':[{'key':'pool','operator':'DoesNotExist'}]},"
          "{'matchExpressions':[{'key':'rack','operator':'Exists'}]}", 5 },
        { "{}", 0 },
    };

    (void)state;
    for (size_t i = 0; i < SW_COUNT(cases); i++) {
        sw_autofree char *pod = sw_format(",'affinity':{'nodeAffinity':{"
                                          "'requiredDuringSchedulingIgnoredDuringExecution':"
                                          "{'nodeSelectorTerms':[%s]}}}", cases[i].terms);
        struct asked asked = { .limits = "'cpu':'1'", .pod = pod };
        struct sw_error err;
        struct k8s_capacity seen = counted(&asked, cluster, NULL, &err);

        if (seen.nodes - seen.unselected != cases[i].selected)
            fail_msg("%s selects %d", cases[i].terms, seen.nodes - seen.unselected);
    }
}

static void what_pods_hold_is_not_free(void **state)
{
    static const char pods[] = "["
        "{'spec':{'nodeName':'a','containers':[{'resources':{'requests':{'nvidia.com/gpu':'2'}}},"
        "{'resources':{'requests':{'nvidia.com/gpu':'1','cpu':'1'}}}],"
        "'initContainers':[{'resources':{'requests':{'cpu':'5'}}},"
        "{'restartPolicy':'Always','resources':{'requests':{'nvidia.com/gpu':'1'}}}]},"
        "'status':{'phase':'Running'}},"
        "{'spec':{'nodeName':'b','containers':[{'resources':{'requests':{'nvidia.com/gpu':'8'}}}]},"
        "'status':{'phase':'Succeeded'}},"
        "{'spec':{'containers':[{'resources':{'requests':{'nvidia.com/gpu':'8'}}}]},"
        "'status':{'phase':'Pending'}},"
        "{'spec':{'nodeName':'c','containers':[{'resources':{'requests':{'nvidia.com/gpu':'4'}}}]},"
        "'status':{'phase':'Pending'}}]";
    struct asked asked = { .limits = "'nvidia.com/gpu':'4'", .nodes = 5 };
    struct sw_error err;
    struct k8s_capacity seen = counted(&asked, cluster, pods, &err);

    (void)state;
    assert_int_equal(seen.allocatable, 20);
    assert_int_equal(seen.free, 4 + 8 + 0);
    assert_int_equal(seen.fit, 5);
    assert_int_equal(seen.fit_free, 3);
    assert_int_equal(err.code, SW_OK);          /* it only has to wait */
}

static void only_what_can_never_fit_is_refused(void **state)
{
    static const struct { struct asked asked; const char *message, *hint; } cases[] = {
        { { .limits = "'nvidia.com/gpu':'8'", .nodes = 4 }, NULL, NULL },      /* two on the cordoned one */
        { { .limits = "'nvidia.com/gpu':'8'", .nodes = 5 },
          "needs 5 x 8 nvidia.com/gpu; 4 fit if all nodes were empty "
          "(4 of 6 nodes match, 1 tainted, 1 not ready)", "autoscaler" },
        { { .limits = "'nvidia.com/gpu':'8'", .nodes = 5, .options = "{'autoscaler':true}" }, NULL, NULL },
        { { .limits = "'nvidia.com/gpu':'32'" },
          "needs 1 x 32 nvidia.com/gpu; the largest matching node has 16 nvidia.com/gpu (4 of 6", NULL },
        { { .limits = "'nvidia.com/gpu':'8','cpu':'65','memory':'1Ti'" },
          "8 nvidia.com/gpu + 65 CPUs + 1 TiB of memory; the largest matching node has 64 CPUs and "
          "512 GiB of memory", NULL },
        { { .limits = "'nvidia.com/gpu':'1'", .pod = ",'nodeSelector':{'pool':'none'}" },
          "0 fit if all nodes were empty (0 of 6 nodes match, 6 not selected)", NULL },
        { { .limits = "'amd.com/gpu':'1'", .options = "{'gpu_resource':'amd.com/gpu'}" },
          "none of the cluster's 6 nodes has amd.com/gpu",
          "the cluster has nvidia.com/gpu; set kubernetes.gpu_resource" },
        { { .limits = "'nvidia.com/gpu':'64'", .options = "{'resource_claims':[{'name':'g'}]}" },
          NULL, NULL },
    };

    (void)state;
    for (size_t i = 0; i < SW_COUNT(cases); i++) {
        struct sw_error err;

        counted(&cases[i].asked, cluster, NULL, &err);
        if (err.code != (cases[i].message ? SW_E_REFUSED : SW_OK) ||
            (cases[i].message && !strstr(err.message, cases[i].message)) ||
            (cases[i].hint && !strstr(err.hint, cases[i].hint)))
            fail_msg("row %zu: '%s' (%s)", i, err.message, err.hint);
    }
}

static void without_any_gpu_the_operator_is_named(void **state)
{
    static const char nodes[] = "[" NODE("f", "", "", "'cpu':'8','memory':'32Gi','pods':'110'") "]";
    struct asked asked = { .limits = "'nvidia.com/gpu':'1'" };
    struct sw_error err;

    (void)state;
    counted(&asked, nodes, NULL, &err);
    assert_int_equal(err.code, SW_E_REFUSED);
    assert_non_null(strstr(err.hint, "GPU Operator"));
}

/* Its device plugin restarts: allocatable says 0, capacity what there is. */
static void gpus_of_a_silent_device_plugin_come_back(void **state)
{
    static const char nodes[] = "[{'metadata':{'name':'a'},'status':{'allocatable':{'nvidia.com/gpu':'0'},"
                                "'capacity':{'nvidia.com/gpu':'8'}," READY "}}]";
    struct asked asked = { .limits = "'nvidia.com/gpu':'8'" };
    struct sw_error err;
    struct k8s_capacity seen = counted(&asked, nodes, NULL, &err);

    (void)state;
    assert_int_equal(err.code, SW_OK);
    assert_int_equal(seen.fit, 0);
    assert_int_equal(seen.fit_later, 1);
}

static void a_taint_of_the_gpus_own_name_closes_no_gpu_node(void **state)
{
    static const char nodes[] = "[" NODE(
        "g", "", "'taints':[{'key':'nvidia.com/gpu','effect':'NoSchedule'}]", GPUS(8)) "]";
    struct asked asked = { .limits = "'nvidia.com/gpu':'8'" };
    struct sw_error err;

    (void)state;
    assert_int_equal(counted(&asked, nodes, NULL, &err).matching, 1);
    asked.limits = "'cpu':'1'";
    assert_int_equal(counted(&asked, nodes, NULL, &err).tainted, 1);
}

static void damaged_lists_count_as_nothing(void **state)
{
    static const char *const lists[] = { "[]", "[1]", "[{}]", "[{'metadata':1,'status':[]}]",
        "[{'spec':{'taints':[3,{}]},'status':{'allocatable':{'nvidia.com/gpu':[]},'conditions':7}}]" };
    struct asked asked = { .limits = "'nvidia.com/gpu':'8'" };

    (void)state;
    for (size_t i = 0; i < SW_COUNT(lists); i++) {
        struct sw_error err;

        assert_int_equal(counted(&asked, lists[i], lists[i], &err).fit, 0);
        assert_int_equal(err.code, SW_E_REFUSED);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(nodes_are_counted_as_the_scheduler_would),
        cmocka_unit_test(architectures_of_gpus_are_read_from_labels),
        cmocka_unit_test(a_toleration_opens_the_taint_that_it_names),
        cmocka_unit_test(required_terms_of_the_affinity_select_nodes),
        cmocka_unit_test(what_pods_hold_is_not_free),
        cmocka_unit_test(only_what_can_never_fit_is_refused),
        cmocka_unit_test(without_any_gpu_the_operator_is_named),
        cmocka_unit_test(gpus_of_a_silent_device_plugin_come_back),
        cmocka_unit_test(a_taint_of_the_gpus_own_name_closes_no_gpu_node),
        cmocka_unit_test(damaged_lists_count_as_nothing),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
