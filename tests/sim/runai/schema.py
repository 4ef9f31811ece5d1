# SPDX-License-Identifier: Apache-2.0
"""schema.py - the bodies that run:ai's API takes, as tables: every field that exists, and what it may hold.

What has no row is refused, and so is a null: the service takes some nulls, but no client needs them.
"""
import re

from cloud import Refused, fields, flag, items, number, real, text

QUANTITY = r"[+]?[0-9.]+(?:[numkKMGTPE]i?|[eE][-+]?[0-9]+)?"
DNS_LABEL = r"[a-z0-9]([a-z0-9-]*[a-z0-9])?"
UUID = r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}"
LONGEST = 10000                      # characters of args and of a variable's value
LONGEST_NAME = 35                    # of a workload: control planes in the field differ, all take this


def among(*choices):
    return text(among=choices)


def one_of(known, names):
    """An object with `name` and exactly one of the other names."""
    check_fields = fields(known, ("name",))

    def check(value, at):
        check_fields(value, at)
        if sum(name in value for name in names) != 1:
            raise Refused(422, f"{at}: must have exactly one of {', '.join(names)}")
    return check


WORD, ANY, FLAG, SIZE = text(4096), text(4096, least=0), flag(), text(64, QUANTITY)
PATH, SECRET_NAME, ID = text(4096, "/.*"), text(63, DNS_LABEL), text(36, UUID)
KEYED = fields({"name": SECRET_NAME, "key": WORD}, ("name", "key"))
MARKS = items(fields({"name": text(63), "value": ANY, "exclude": FLAG}, ("name",)))
MODE = text(4, "0[0-7]{3}")
PORT = number(1, 65535)

ENVIRONMENT = items(one_of({
    "name": text(4096, "[A-Za-z_][A-Za-z0-9_]*"), "value": text(LONGEST, least=0), "secret": KEYED, "configMap": KEYED,
    "podFieldRef": fields({"path": WORD}, ("path",)),
    "userCredential": fields({"name": WORD, "key": WORD}, ("name", "key")), "exclude": FLAG, "description": ANY},
    ("value", "secret", "configMap", "podFieldRef", "userCredential", "exclude")))

COMPUTE = fields({
    "cpuCoreRequest": real(), "cpuCoreLimit": real(), "cpuMemoryRequest": SIZE, "cpuMemoryLimit": SIZE,
    "gpuDevicesRequest": number(), "gpuRequestType": among("portion", "memory"), "gpuPortionRequest": real(0, 1),
    "gpuPortionLimit": real(0, 1), "gpuMemoryRequest": SIZE, "gpuMemoryLimit": SIZE, "largeShmRequest": FLAG,
    "extendedResources": items(fields({"resource": WORD, "quantity": SIZE, "exclude": FLAG}, ("resource", "quantity")))})

STORAGE = fields({
    "pvc": items(fields({
        "name": WORD, "path": PATH, "existingPvc": FLAG, "claimName": text(63), "readOnly": FLAG, "ephemeral": FLAG,
        "dataSharing": FLAG, "exclude": FLAG,
        "claimInfo": fields({
            "size": SIZE, "storageClass": SECRET_NAME, "volumeMode": among("Filesystem", "Block"),
            "accessModes": fields({"readWriteOnce": FLAG, "readOnlyMany": FLAG, "readWriteMany": FLAG})})}, ("path",))),
    "nfs": items(fields({"name": WORD, "path": PATH, "server": WORD, "mountPath": PATH, "readOnly": FLAG, "exclude": FLAG},
                        ("path", "server", "mountPath"))),
    "hostPath": items(fields({"name": WORD, "path": PATH, "mountPath": PATH, "readOnly": FLAG, "exclude": FLAG,
                              "mountPropagation": among("None", "HostToContainer")}, ("path", "mountPath"))),
    "git": items(fields({
        "name": WORD, "repository": WORD, "branch": WORD, "revision": WORD, "path": PATH, "passwordSecret": WORD,
        "secretKeyOfUser": WORD, "secretKeyOfPassword": WORD, "exclude": FLAG,
        "secretRef": fields({"name": WORD, "authenticationMethod": among("password", "ssh-key"), "secretKeyOfUser": WORD,
                             "secretKeyOfPassword": WORD}, ("name",))}, ("repository", "path"))),
    "s3": items(fields({"name": WORD, "bucket": WORD, "path": PATH, "url": WORD, "accessKeySecret": WORD,
                        "secretKeyOfAccessKeyId": WORD, "secretKeyOfSecretKey": WORD, "exclude": FLAG}, ("bucket", "path"))),
    "configMapVolume": items(fields({"name": WORD, "configMap": SECRET_NAME, "mountPath": PATH, "subPath": WORD,
                                     "defaultMode": MODE, "exclude": FLAG}, ("configMap", "mountPath"))),
    "secretVolume": items(fields({"name": WORD, "secret": WORD, "mountPath": PATH, "defaultMode": MODE, "exclude": FLAG},
                                 ("secret", "mountPath"))),
    "dataVolume": items(fields({"id": ID, "mountPath": PATH, "exclude": FLAG}, ("id", "mountPath"))),
    "emptyDirVolume": items(fields({"name": WORD, "path": PATH, "medium": WORD, "sizeLimit": SIZE, "exclude": FLAG},
                                   ("path",)))})

SECURITY = fields({
    "allowPrivilegeEscalation": FLAG, "capabilities": items(text(64, "[A-Z_]+")), "hostIpc": FLAG, "hostNetwork": FLAG,
    "readOnlyRootFilesystem": FLAG, "runAsGid": number(), "runAsNonRoot": FLAG, "runAsUid": number(),
    "seccompProfileType": among("RuntimeDefault", "Unconfined", "Localhost"), "supplementalGroups": ANY,
    "uidGidSource": among("fromTheImage", "fromIdpToken", "custom")})

AFFINITY = fields({"nodeSelectorTerms": items(fields({"matchExpressions": items(fields({
    "key": WORD, "operator": among("In", "NotIn", "Exists", "DoesNotExist", "Gt", "Lt"), "values": items(ANY)},
    ("key", "operator")))}))})

TOLERATIONS = items(fields({
    "name": WORD, "operator": among("Equal", "Exists"), "key": ANY, "value": ANY, "seconds": number(1), "exclude": FLAG,
    "effect": among("NoSchedule", "NoExecute", "PreferNoSchedule", "Any")}))

PORTS = items(fields({
    "container": PORT, "serviceType": among("LoadBalancer", "NodePort", "ClusterIP"), "external": PORT, "toolType": ANY,
    "toolName": ANY, "name": WORD, "exclude": FLAG}, ("container",)))

URLS = items(fields({
    "container": PORT, "url": ANY,
    "authorizationType": among("authenticatedUsers", "authorizedUsers", "authorizedGroups"),
    "authorizedUsers": items(ANY), "authorizedGroups": items(ANY), "toolType": ANY, "toolName": ANY, "name": WORD,
    "exclude": FLAG}, ("container",)))

PROBE = fields({"readiness": fields({
    "initialDelaySeconds": number(), "periodSeconds": number(1), "timeoutSeconds": number(1), "successThreshold": number(1),
    "failureThreshold": number(1), "handler": fields({"httpGet": fields({
        "path": ANY, "port": PORT, "host": WORD, "scheme": among("HTTP", "HTTPS")}, ("port",))})})})

COMMON = {
    "annotations": MARKS, "labels": MARKS, "args": text(LONGEST), "command": text(LONGEST),
    "autoDeletionTimeAfterCompletionSeconds": number(), "backoffLimit": number(), "category": ANY, "compute": COMPUTE,
    "createHomeDir": FLAG, "environmentVariables": ENVIRONMENT, "exposedUrls": URLS, "image": WORD,
    "imagePullPolicy": among("Always", "Never", "IfNotPresent"),
    "imagePullSecrets": items(fields({"name": SECRET_NAME, "userCredential": FLAG, "exclude": FLAG}, ("name",))),
    "nodeAffinityRequired": AFFINITY, "nodePools": items(WORD), "nodeType": WORD, "ports": PORTS,
    "podAffinity": fields({"type": among("Required", "Preferred"), "key": ANY}),
    "preemptibility": among("preemptible", "non-preemptible"),
    "priorityClass": among("very-low", "low", "medium-low", "medium", "medium-high", "high", "very-high"),
    "probes": PROBE, "relatedUrls": items(fields({"url": ANY, "type": ANY, "name": ANY, "exclude": FLAG})),
    "restartPolicy": among("Always", "Never", "OnFailure"), "security": SECURITY, "stdin": FLAG, "storage": STORAGE,
    "terminateAfterPreemption": FLAG, "terminationGracePeriodSeconds": number(), "tolerations": TOLERATIONS, "tty": FLAG,
    "workingDir": PATH}
DISTRIBUTED = {
    **COMMON, "distributedFramework": among("MPI", "PyTorch", "TF", "XGBoost", "JAX"), "numWorkers": number(1),
    "minReplicas": number(1), "maxReplicas": number(1), "cleanPodPolicy": among("None", "All", "Running"),
    "slotsPerWorker": number(1), "sshAuthMountPath": PATH,
    "mpiLauncherCreationPolicy": among("AtStartup", "WaitForWorkersReady")}


def creation(spec, **more):
    return fields({"name": text(LONGEST_NAME, "[a-z]([-a-z0-9]*[a-z0-9])?"), "useGivenNameAsPrefix": FLAG,
                   "projectId": text(20, "[0-9]+"), "clusterId": ID, "templateId": ID, "spec": spec, **more},
                  ("name", "projectId", "clusterId", "spec"))


WORKLOADS = {
    "workspaces": creation(fields(COMMON, ("image",))),
    "trainings": creation(fields({**COMMON, "parallelism": number(1), "completions": number(1)}, ("image",))),
    "distributed": creation(fields(DISTRIBUTED, ("image", "distributedFramework", "numWorkers")),
                            masterSpecSameAsWorker=FLAG, masterSpec=fields(COMMON))}

BATCH = fields({"ids": items(ID, 1, 100), "action": among("delete", "suspend", "resume")}, ("ids", "action"))

META = fields({
    "name": text(63), "description": text(250), "scope": among("system", "tenant", "cluster", "department", "project"),
    "clusterId": ID, "departmentId": WORD, "projectId": number(1), "autoDelete": FLAG, "private": FLAG,
    "workloadSupportedTypes": fields({"inference": FLAG, "workspace": FLAG, "training": FLAG, "distributed": FLAG,
                                      "distFramework": among("MPI", "PyTorch", "TF", "XGBoost")})}, ("name", "scope"))
EXISTING, LONG = {"existingSecretName": WORD}, text(1 << 20)
CREDENTIALS = {
    kind: fields({"meta": META, "spec": spec}, ("meta", "spec")) for kind, spec in {
        "docker-registry": fields({**EXISTING, "user": WORD, "password": LONG, "url": WORD}),
        "ngc-api-key": fields({"ngc_api_key": text(4096, "[-._A-Za-z0-9]+")}, ("ngc_api_key",)),
        "generic-secret": fields({**EXISTING, "keyValuePairs": items(
            fields({"key": text(253, "[-._A-Za-z0-9]+"), "value": text(1 << 20, least=0)}, ("key", "value")))}),
        "access-key": fields({**EXISTING, "accessKeyId": WORD, "secretAccessKey": LONG}),
        "password": fields({**EXISTING, "user": WORD, "password": LONG})}.items()}
SCOPES = {"project": "projectId", "cluster": "clusterId", "department": "departmentId"}

GRANTS = {                           # of a token: what each kind needs, in lower case as the server compares
    "client_credentials": ("clientid", "clientsecret"), "app_token": ("appid", "appsecret"),
    "refresh_token": ("refreshtoken",)}

# The fields that each list can be filtered by.
FILTERS = {
    "projects": {"name", "clusterId", "departmentId", "parentId", "parentName", "phase", "createdAt"},
    "nodepools": {"name", "clusterId", "phase", "createdAt", "updatedAt"},
    "nodes": {"name", "status", "nodePool", "gpuType", "clusterUuid"},
    "pods": {"clusterId", "workloadId", "nodeName", "currentNodepool", "createdAt", "completedAt", "deletedAt"},
    "workloads": {"type", "name", "clusterId", "projectId", "projectName", "departmentId", "departmentName", "createdAt",
                  "deletedAt", "submittedBy", "phase", "completedAt", "distributedFramework", "phaseUpdatedAt", "category",
                  "priority", "priorityClassName"}}
OPERATORS = {
    "==": lambda a, b: a == b, "!=": lambda a, b: a != b, "<=": lambda a, b: a <= b, ">=": lambda a, b: a >= b,
    "=@": lambda a, b: b in a, "!@": lambda a, b: b not in a, "=^": lambda a, b: a.startswith(b),
    "=$": lambda a, b: a.endswith(b)}
FILTER = re.compile(r"(\w+?)(==|!=|<=|>=|=@|!@|=\^|=\$)(.+)")
