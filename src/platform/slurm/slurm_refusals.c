/* SPDX-License-Identifier: Apache-2.0 */
/*
 * slurm_refusals.c - what Slurm says when it certainly queued nothing.
 *
 * sbatch ends with 1 for many reasons, and some of them (an answer that was cut, a controller that was
 * slow) leave a job in the queue. So only these texts are refusals; whatever else it says, the queue is
 * asked for the job, and where that does not show it the answer is "maybe". They are the words of
 * slurm_strerror() and of sbatch's own reading of its options, the same since Slurm 17.
 *
 * Pure.
 */
#include "platform/slurm/slurm_internal.h"

#include "base/text.h"

static const struct {
    const char *says;
    /* refused when the queue has nothing of it, too: a plugin of the site said no */
    bool look;
} refusals[] = {
    /* where and for whom */
    { "Invalid partition name specified", false },
    { "invalid partition specified", false },
    { "Default partition not set", false },
    { "No partition specified or system default partition", false },
    { "Required partition not available", false },
    { "Requested partition configuration not available", false },
    { "Invalid account", false },
    { "Invalid qos", false },
    { "Invalid QOS", false },
    { "not permitted to use this partition", false },
    { "Access/permission denied", false },
    { "User not found on host", false },
    { "Invalid user id", false },
    { "Invalid group id", false },
    { "Requested reservation is invalid", false },
    { "requested reservation is not usable", false },
    { "Access denied to requested reservation", false },
    { "Access denied to reservation", false },
    /* how much */
    { "Job violates accounting/QOS policy", false },
    { "Requested time limit is invalid", false },
    { "Time limit specification required", false },
    { "Requested node configuration is not available", false },
    { "Requested nodes not in this partition", false },
    { "Required node not available", false },
    { "Required nodes outside of the reservation", false },
    { "Invalid node name specified", false },
    { "Node count specification invalid", false },
    { "More processors requested than permitted", false },
    { "CPU count specification invalid", false },
    { "CPU count per node can not be satisfied", false },
    { "Memory required by task is not available", false },
    { "Memory specification can not be satisfied", false },
    { "Invalid generic resource (gres) specification", false },
    { "Invalid Trackable RESource (TRES) specification", false },
    { "Requested GRES option unsupported", false },
    { "Invalid feature specification", false },
    { "Invalid license specification", false },
    { "Invalid job array specification", false },
    { "Job dependency problem", false },
    { "Circular job dependency", false },
    /* what sbatch finds by itself, before it asks anybody */
    { "sbatch: unrecognized option", false },
    { "sbatch: invalid option", false },
    { "sbatch: option ", false },
    { "Try \"sbatch --help\"", false },
    { "Invalid numeric value", false },
    { "Invalid time specification", false },
    { "Invalid --", false },
    { "Invalid directive found in batch script", false },
    { "This does not look like a batch script", false },
    { "Batch script is empty", false },
    { "Unable to open file", false },
    /* the controller's own word for it, without a reason */
    { "Unspecified error", true },
};

static void add_function(struct sw_buf *out, const char *name, bool look)
{
    bool any = false;

    sw_buf_addf(out, "%s() {\n    case $1 in\n    ", name);
    for (size_t i = 0; i < SW_COUNT(refusals); i++) {
        if (refusals[i].look != look)
            continue;
        sw_buf_add(out, any ? "* | *" : "*");
        sw_buf_add_quoted(out, refusals[i].says);
        any = true;
    }
    sw_buf_add(out, "*) return 0 ;;\n    esac\n    return 1\n}\n");
}

void slurm_refusals_script(struct sw_buf *out)
{
    add_function(out, "refused_by", false);
    add_function(out, "refused_without_reason", true);
}
