/* SPDX-License-Identifier: Apache-2.0 */
/*
 * log_rules.c - what the end of a log says about the failure.
 *
 * The first row that fits decides, so the order is the judgement: two faults that are never
 * infrastructure, what a scheduler or the hardware states, then faults of the program, and only
 * then the network. A program's fault often drags a network error behind it, and retrying a bug
 * does not help.
 *
 * Each row has lines that must fit and lines that must not in tests/unit/diagnose/; a row
 * without both fails the tests. Patterns: diagnose_internal.h.
 */
#include "diagnose/diagnose_internal.h"

#define PROGRAM(name, cause, suggestion) { name, SW_CLASS_PROGRAM, cause, DIAG_ADVICE(suggestion) }
#define INFRA(name, cause, suggestion)   { name, SW_CLASS_INFRA, cause, DIAG_ADVICE(suggestion) }

const struct diag_log_rule diag_log_rules[] = {
    /* ---- never infrastructure, whatever else is in the log ----------------------------- */
    { PROGRAM("cuda-memory", "memory",
        "the GPU's memory is too small for this: use a smaller batch or image size, gradient "
        "checkpointing, or a GPU with more memory"),
      DIAG_NEAR_END,
      { "^RuntimeError: CUDA out of memory", "^RuntimeError: CUDA error: out of memory",
        "^torch.OutOfMemoryError: ", "^torch.cuda.OutOfMemoryError: ",
        "^  what():  CUDA out of memory", "^  what():  CUDA error: out of memory",
        "^RuntimeError: CUDA error: CUBLAS_STATUS_ALLOC_FAILED",
        "^RuntimeError: cuDNN error: CUDNN_STATUS_ALLOC_FAILED",
        "^jaxlib.xla_extension.XlaRuntimeError: RESOURCE_EXHAUSTED: Out of memory",
        "^tensorflow.*ResourceExhaustedError: *OOM when allocating tensor" } },
    { PROGRAM("device-assert", "user",
        "an assertion in a kernel failed, mostly an index or class label out of range: check the "
        "labels, and run with CUDA_LAUNCH_BLOCKING=1 to see the line"),
      DIAG_NEAR_END,
      { "CUDA error: device-side assert triggered", "CUDA_ERROR_ASSERT",
        ".cu:#: *block: [*thread: [*Assertion `*` failed" } },

    /* ---- the scheduler's own words ----------------------------------------------------- */
    { PROGRAM("slurm-time", "time",
        "the time limit was reached: raise 'time:' or continue from the last checkpoint"),
      DIAG_NEAR_END, { "^slurmstepd: error: * DUE TO TIME LIMIT", "^slurmstepd-*: error: * DUE TO TIME LIMIT",
        "^srun: * DUE TO TIME LIMIT" } },
    { INFRA("slurm-preempted", "preempted",
        "the scheduler took the nodes back: run it again, from the last checkpoint"),
      DIAG_NEAR_END, { "^slurmstepd: error: * DUE TO PREEMPTION", "^slurmstepd-*: error: * DUE TO PREEMPTION",
        "^srun: * DUE TO PREEMPTION" } },
    { INFRA("slurm-node", "node", "a node failed: run it again"),
      DIAG_NEAR_END,
      { "^slurmstepd: error: * DUE TO NODE FAILURE", "^slurmstepd-*: error: * DUE TO NODE FAILURE",
        "^srun: error: Node failure on ",
        "^srun: * DUE TO NODE FAILURE",
        "^srun: error: Task launch for StepId=* failed on node *: Zero Bytes were transmitted",
        "^srun: error: Task launch for StepId=* failed on node *: Communication connection failure",
        "^srun: error: Task launch for StepId=* failed on node *: Socket timed out on send/recv" } },
    { INFRA("slurm-controller", "network",
        "Slurm's controller did not answer when the job started: run it again"),
      DIAG_NEAR_END,
      { "^srun: error: Unable to *: Unable to contact slurm controller",
        "^srun: error: Unable to *: Socket timed out on send/recv operation" } },
    { PROGRAM("oom-kill", "memory",
        "the kernel killed a process for using too much memory: raise 'memory:', use fewer data "
        "loader workers or make the batch smaller"),
      DIAG_NEAR_END,
      { "^slurmstepd: error: Detected # oom", "^slurmstepd-*: error: Detected # oom",
        "^srun: error: *: task *: Out Of Memory",
        "Out of memory: Killed process # (", "emory cgroup out of memory: Kill",
        "oom-kill:constraint=CONSTRAINT_" } },
    { INFRA("evicted", "preempted",
        "the node was low on resources and evicted the job: run it again; if it repeats, ask for the "
        "memory and disk the job really uses"),
      DIAG_NEAR_END,
      { "^The node was low on resource: ", "^Pod was terminated in response to ", "^Preempted by ",
        "^Pod ephemeral local storage usage exceeds " } },

    /* ---- broken hardware --------------------------------------------------------------- */
    { INFRA("xid-hardware", "gpu",
        "the GPU or its driver failed: run it again on another node and report this one"),
      DIAG_ANYWHERE, { "NVRM: Xid (PCI:*): #" }, .also = diag_line_is_hardware_xid },
    { INFRA("gpu-ecc", "gpu",
        "the GPU's memory is failing: run it again on another node and report this one"),
      DIAG_ANYWHERE,
      { "uncorrectable ECC error encountered", "CUDA_ERROR_ECC_UNCORRECTABLE",
        "cudaErrorECCUncorrectable" } },
    { INFRA("gpu-lost", "gpu",
        "a GPU disappeared: run it again on another node and report this one"),
      DIAG_ANYWHERE,
      { "GPU has fallen off the bus", "^Unable to determine the device handle for GPU",
        "GPU is lost. ", "hardware error encountered over nvlink",
        "peer GPU memory over nvlink or a hardware error" } },
    { INFRA("gpu-busy", "gpu",
        "the GPU is held by another process, or its driver is not ready: run it again on another "
        "node"),
      DIAG_NEAR_END,
      { "CUDA-capable device(s) is/are busy or unavailable",
        "CUDA error: system not yet initialized", "cudaErrorSystemNotReady",
        "CUDA_ERROR_SYSTEM_NOT_READY" } },
    { INFRA("driver-broken", "gpu",
        "the node's driver changed or was lost: the node needs a restart; run it again elsewhere"),
      DIAG_NEAR_END,
      { "^Failed to initialize NVML: Driver/library version mismatch",
        "^Failed to initialize NVML: Unknown Error", "couldn't communicate with the NVIDIA driver",
        "^nvidia-container-cli: initialization error: " } },

    /* ---- the program on the GPU -------------------------------------------------------- */
    { PROGRAM("gpu-memory", "memory",
        "the GPU's memory is too small for this: use a smaller batch or image size, or a GPU with "
        "more memory"),
      DIAG_NEAR_END,
      { "Cuda failure * 'out of memory'", "CUDA_ERROR_OUT_OF_MEMORY: out of memory",
        "RESOURCE_EXHAUSTED: Out of memory while trying to allocate" } },
    { PROGRAM("illegal-access", "user",
        "a kernel used a bad address: run with CUDA_LAUNCH_BLOCKING=1 or under compute-sanitizer "
        "to see which"),
      DIAG_NEAR_END,
      { "CUDA error: an illegal memory access was encountered", "CUDA_ERROR_ILLEGAL_ADDRESS",
        "CUDA error: misaligned address", "CUDA error: unspecified launch failure",
        "CUDA error: an illegal instruction was encountered" } },
    { PROGRAM("xid-program", "user",
        "a kernel of the program used a bad address: run it with CUDA_LAUNCH_BLOCKING=1 or under "
        "compute-sanitizer to see which"),
      DIAG_NEAR_END, { "NVRM: Xid (PCI:*): #" }, .also = diag_line_is_program_xid },
    { PROGRAM("gpu-architecture", "user",
        "the program was not built for this kind of GPU: use an image made for it, or another GPU"),
      DIAG_NEAR_END,
      { "CUDA error: no kernel image is available for execution on the device",
        "CUDA_ERROR_NO_BINARY_FOR_GPU" } },
    { PROGRAM("gpu-number", "user",
        "the program asked for a GPU it does not have: compare 'gpus:' with the number of "
        "processes it starts"),
      DIAG_NEAR_END, { "CUDA error: invalid device ordinal", "CUDA_ERROR_INVALID_DEVICE" } },
    { PROGRAM("cuda-fork", "user",
        "CUDA was used before and after a fork: start workers with the 'spawn' method"),
      DIAG_EXCEPTION, { "^RuntimeError: Cannot re-initialize CUDA in forked subprocess" } },

    /* ---- memory of the machine --------------------------------------------------------- */
    { PROGRAM("shm", "memory",
        "/dev/shm is too small: raise 'shm:' or use fewer data loader workers"),
      DIAG_NEAR_END,
      { "is killed by signal: Bus error", "insufficient shared memory (shm)",
        "unable to write to file </torch_", "unable to open shared memory object </torch_",
        "No space left on device: '/dev/shm", "creating shared memory segment /dev/shm/nccl-",
        "Signal 7 (SIGBUS) received by PID #", "^Bus error (core dumped)",
        "^srun: error: *: task *: Bus error" } },
    { PROGRAM("worker-killed", "memory",
        "a data loader worker was killed, nearly always for memory: raise 'memory:' or lower "
        "num_workers"),
      DIAG_NEAR_END, { "DataLoader worker (pid*) is killed by signal: Killed" } },
    { PROGRAM("host-memory", "memory",
        "the machine's memory was not enough: raise 'memory:', load less at a time or use fewer "
        "workers"),
      DIAG_NEAR_END,
      { "^MemoryError", "._ArrayMemoryError: Unable to allocate ", "^  what():  std::bad_alloc",
        "Error: [Errno 12] Cannot allocate memory", "DefaultCPUAllocator: can't allocate memory",
        "^java.lang.OutOfMemoryError: ", "^ray.exceptions.OutOfMemoryError: " } },

    /* ---- drivers and devices ----------------------------------------------------------- */
    { PROGRAM("gpu-not-asked", "user",
        "the program wants a GPU and the job asked for none: set 'gpus:'"),
      DIAG_NEAR_END,
      { "no CUDA-capable device is detected", "No CUDA GPUs are available",
        "Found no NVIDIA driver on your system", "libcuda.so.1: cannot open shared",
        "CUDA_ERROR_NO_DEVICE" }, .gpus = DIAG_GPUS_NONE },
    { INFRA("driver-old", "gpu",
        "the node's driver is older than the image needs: use an image with an older CUDA, or a "
        "node with a newer driver"),
      DIAG_NEAR_END,
      { "The NVIDIA driver on your system is too old (found version #",
        "CUDA driver version is insufficient for CUDA runtime version",
        "forward compatibility was attempted on non supported HW",
        "nvidia-container-cli: requirement error: unsatisfied condition: cuda",
        "CUDA_ERROR_SYSTEM_DRIVER_MISMATCH" } },
    { INFRA("gpu-none", "gpu",
        "the job saw no GPU although it should have one: run it again on another node; if all nodes do "
        "this, check the container runtime"),
      DIAG_NEAR_END,
      { "no CUDA-capable device is detected", "No CUDA GPUs are available",
        "Found no NVIDIA driver on your system", "libcuda.so.1: cannot open shared",
        "CUDA_ERROR_NO_DEVICE",
        "could not select device driver \"\" with capabilities: [[gpu]]" } },
    { PROGRAM("torch-without-cuda", "user",
        "this PyTorch was built without CUDA: install the CUDA build, or use another image"),
      DIAG_NEAR_END, { "^AssertionError: Torch not compiled with CUDA enabled" } },

    /* ---- files and disks --------------------------------------------------------------- */
    { PROGRAM("quota", "storage",
        "your quota is used up: delete old files or ask for more, then run it again"),
      DIAG_NEAR_END, { "Disk quota exceeded", "[Errno 122]" } },
    { INFRA("disk-full", "storage",
        "the disk is full: free some space or write elsewhere, then run it again"),
      DIAG_NEAR_END,
      { "[Errno 28] No space left on device", ": No space left on device$", "(os error 28)",
        "^RuntimeError: *: No space left on device",
        "PytorchStreamWriter failed writing file data/" } },
    { INFRA("file-system", "storage",
        "the file system failed: report it to its administrators, then run it again"),
      DIAG_NEAR_END,
      { "[Errno 116] Stale file handle", ": Stale file handle$",
        "[Errno 107] Transport endpoint is not connected", "[Errno 5] Input/output error",
        ": Input/output error$" } },
    { PROGRAM("read-only", "storage",
        "it wrote to a read-only place: write below one of the 'outputs:'"),
      DIAG_NEAR_END, { "[Errno 30] Read-only file system", ": Read-only file system$" } },

    /* ---- the image --------------------------------------------------------------------- */
    { PROGRAM("mount-failed", "user",
        "a folder could not be mounted into the container: check that it exists on the node and may be read "
        "there"),
      DIAG_NEAR_END, { "enroot-mount: failed to mount: " } },
    { PROGRAM("image-denied", "image",
        "the registry refused: check the image's name and the pull secret (NGC_KEY for nvcr.io)"),
      DIAG_NEAR_END,
      { "pull access denied for ", "unauthorized: authentication required",
        "returned error code: 401 Unauthorized",
        "denied: requested access to the resource is denied", "registry*: 403 Forbidden" } },
    { PROGRAM("image-missing", "image", "there is no such image: check its name and tag"),
      DIAG_NEAR_END,
      { "manifest unknown", "manifest for * not found", "returned error code: 404 Not Found",
        "repository does not exist or may require" } },
    { PROGRAM("image-architecture", "image",
        "the image or program is for another kind of processor: use one built for this node"),
      DIAG_AT_END, { "exec format error", "Exec format error", "cannot execute binary file" } },
    { PROGRAM("image-unusable", "image",
        "the image file cannot be used: check that it exists, is complete and readable on the node"),
      DIAG_NEAR_END,
      { "enroot-aufs2ovlfs: ", "enroot-mksquashovlfs: ", "[ERROR] No such file or directory: *.sqsh",
        "[ERROR] Invalid image format: ", "[ERROR] Failed to mount: *.sqsh" } },
    { INFRA("image-pull", "image",
        "the image could not be fetched: run it again; if it repeats, check the registry"),
      DIAG_NEAR_END,
      { "toomanyrequests: ", "pyxis: failed to import docker image", "ErrImagePull",
        "ImagePullBackOff", "^Back-off pulling image ", "^Failed to pull image ",
        "failed to register layer: ", "^Error response from daemon: Get *timeout" } },
    { PROGRAM("container-start", "image",
        "the container could not be made from the image: check that the image is complete, readable on "
        "the node and built for it"),
      DIAG_NEAR_END,
      { "pyxis: failed to create container filesystem", "pyxis: failed to start container",
        "pyxis: container start failed with error code: #", "pyxis: container exited too soon",
        "pyxis: importer * failed with exit code #", "pyxis: child # failed with error code: #",
        "pyxis: child # terminated with signal #" } },

    /* ---- the data store ---------------------------------------------------------------- */
    { PROGRAM("store-denied", "user",
        "the object store refused the credential: check the key, its rights on this bucket and "
        "that it has not expired"),
      DIAG_NEAR_END,
      { "An error occurred (403) when calling", "An error occurred (AccessDenied) when",
        "An error occurred (InvalidAccessKeyId) when", "An error occurred (ExpiredToken",
        "An error occurred (SignatureDoesNotMatch) when", "<Code>AccessDenied</Code>",
        "^botocore.exceptions.NoCredentialsError: ", "^PermissionError: Access Denied",
        "^google.api_core.exceptions.Forbidden: 403 " } },
    { PROGRAM("store-missing", "user",
        "the object store has no such bucket or object: check the address"),
      DIAG_NEAR_END,
      { "An error occurred (404) when calling", "An error occurred (NoSuchBucket) when",
        "An error occurred (NoSuchKey) when", "<Code>NoSuchKey</Code>" } },
    { INFRA("store-busy", "network",
        "the object store was overloaded: run it again, with fewer parallel reads"),
      DIAG_NEAR_END,
      { "An error occurred (SlowDown) when", "An error occurred (503) when",
        "An error occurred (InternalError) when", "An error occurred (500) when",
        "An error occurred (ServiceUnavailable) when", "Please reduce your request rate",
        "An error occurred (RequestTimeout) when" } },
    { INFRA("store-unreachable", "network",
        "the object store did not answer: check its address and that the node may reach it, then "
        "run it again"),
      DIAG_NEAR_END,
      { "^botocore.exceptions.EndpointConnectionError: ",
        "^botocore.exceptions.ConnectTimeoutError: ", "Could not connect to the endpoint URL: ",
        "^botocore.exceptions.ReadTimeoutError: ",
        "^botocore.exceptions.ConnectionClosedError: " } },
    { PROGRAM("hub-denied", "user",
        "the model hub refused: set HF_TOKEN under 'secrets:' and accept the model's terms, or "
        "check the name"),
      DIAG_NEAR_END,
      { "huggingface_hub.errors.GatedRepoError: ",
        "huggingface_hub.errors.RepositoryNotFoundError: ",
        "^OSError: You are trying to access a gated repo", ".HTTPError: 401 Client Error",
        ".HTTPError: 403 Client Error",
        "is not a local folder and is not a valid model identifier" } },
    { INFRA("hub-busy", "network",
        "the server was overloaded: run it again, and let one process download for all"),
      DIAG_NEAR_END,
      { "HTTPError: 429 Client Error", "HTTPError: 50# Server Error", "HfHubHTTPError: 429 ",
        "HfHubHTTPError: 50# " } },
    { PROGRAM("tracker-login", "user",
        "the experiment tracker has no key: name it under 'secrets:', e.g. WANDB_API_KEY"),
      DIAG_NEAR_END,
      { "wandb.errors.*UsageError: api_key not configured",
        "wandb: ERROR api_key not configured" } },

    /* ---- meeting of the ranks ---------------------------------------------------------- */
    { INFRA("port-taken", "network",
        "another process uses the port of the rendezvous: leave MASTER_PORT to Slipway or choose "
        "another, and run it again"),
      DIAG_NEAR_END,
      { "The server socket has failed to listen on any local network address",
        "Error: [Errno 98] Address already in use", "^RuntimeError: Address already in use" } },
    { INFRA("rendezvous", "network",
        "the ranks did not find each other: check that MASTER_ADDR can be reached from every node, "
        "and whether one rank failed before (its log comes first)"),
      DIAG_NEAR_END,
      { "^torch.distributed.DistNetworkError: ", "^torch.distributed.DistStoreError: ",
        "^torch.distributed.elastic.rendezvous.api.Rendezvous*Error",
        "^RuntimeError: The client socket has ", "^TimeoutError: The client socket has ",
        "^RuntimeError: Timed out initializing process group in store based barrier",
        "^RuntimeError: Socket Timeout" } },

    /* ---- plain faults of the program --------------------------------------------------- */
    { PROGRAM("library-missing", "user",
        "a shared library is missing in the image: install it, or use another image"),
      DIAG_NEAR_END,
      { "error while loading shared libraries: ",
        "^OSError: *: cannot open shared object file: No such file",
        "^ImportError: *: cannot open shared object file: No such file",
        "version `GLIBC*' not found" } },
    { PROGRAM("module-missing", "user",
        "a Python module cannot be imported: put it into the image, or its folder into 'code:'"),
      DIAG_EXCEPTION, { "^ModuleNotFoundError: ", "^ImportError: " } },
    { PROGRAM("file-missing", "user",
        "a file does not exist: check the path, and that it is an input of the job or inside "
        "'code:'"),
      DIAG_EXCEPTION, { "^FileNotFoundError: ", "^NotADirectoryError: ", "^IsADirectoryError: " } },
    { PROGRAM("permission", "user",
        "permission denied on a file: check owner and mode, or write below one of the "
        "'outputs:'"),
      DIAG_EXCEPTION, { "^PermissionError: [Errno #]" } },
    { PROGRAM("python-syntax", "user", "the program is not valid Python: see the line"),
      DIAG_EXCEPTION, { "^SyntaxError: ", "^IndentationError: ", "^TabError: " } },
    { PROGRAM("config", "user",
        "the configuration is wrong: compare the key named here with what the program expects"),
      DIAG_EXCEPTION,
      { "^omegaconf.errors.", "^hydra.errors.", "^json.decoder.JSONDecodeError: ", "^yaml.*Error",
        "^pydantic*ValidationError: " } },
    { PROGRAM("tensor-shape", "user",
        "tensors do not fit together: compare model, checkpoint and data (the message has sizes)"),
      DIAG_EXCEPTION,
      { "^RuntimeError: Error(s) in loading state_dict for ",
        "^RuntimeError: mat1 and mat2 shapes cannot be multiplied",
        "^RuntimeError: The size of tensor a ", "^RuntimeError: Given groups=",
        "^RuntimeError: Expected all tensors to be on the same device", "^RuntimeError: shape '",
        "^RuntimeError: stack expects each tensor",
        "^RuntimeError: Sizes of tensors must match" } },
    { PROGRAM("python", "user", "the program raised this exception: see the traceback in its log"),
      DIAG_EXCEPTION,
      { "^KeyError", "^ValueError", "^TypeError", "^AttributeError", "^NameError", "^IndexError",
        "^AssertionError", "^ZeroDivisionError", "^NotImplementedError", "^UnboundLocalError",
        "^Unicode", "^RecursionError" } },
    { PROGRAM("interrupted", "user", "it was interrupted from the keyboard or by signal 2"),
      DIAG_EXCEPTION, { "^KeyboardInterrupt" } },
    { PROGRAM("loss-nan", "user",
        "the loss became NaN: lower the learning rate, clip gradients, or look for bad samples"),
      DIAG_AT_END,
      { "oss is nan", "oss is NaN", "oss = nan", "oss became nan", "oss became NaN", "on-finite loss",
        "NaN loss", "nan loss", "oss diverged", "NaN or Inf found in ", "^FloatingPointError: " } },
    { PROGRAM("arguments", "user",
        "the command line is wrong: compare it with the program's --help"),
      DIAG_AT_END,
      { ": error: the following arguments are required: ", ": error: unrecognized arguments: ",
        ": error: argument *: invalid ", ": error: argument *: expected ",
        "^Error: No such option: ", "^Error: Missing option " } },
    { PROGRAM("segfault", "user",
        "the program crashed: look at the last call in its log; mixed library versions are a "
        "common reason"),
      DIAG_NEAR_END,
      { "^Fatal Python error: Segmentation fault", "Segmentation fault (core dumped)",
        ": line #: *# Segmentation fault ", "^Segmentation fault$",
        "Signal 11 (SIGSEGV) received by PID #", "is killed by signal: Segmentation fault",
        "^srun: error: *: task *: Segmentation fault" } },

    /* ---- the network ------------------------------------------------------------------- */
    { PROGRAM("nccl-usage", "user",
        "NCCL was called wrongly, e.g. two ranks on one GPU or ranks with different calls: compare "
        "'gpus:' with the number of processes"),
      DIAG_NEAR_END,
      { "ncclInvalidUsage: ", "ncclInvalidArgument: ", "Duplicate GPU detected : rank #" } },
    { INFRA("nccl-timeout", "network",
        "the ranks waited for each other too long: a node or link is stuck, or the ranks do "
        "different work; run it again, and with TORCH_NCCL_TRACE_BUFFER_SIZE set if it returns"),
      DIAG_NEAR_END,
      { "Watchdog caught collective operation timeout: WorkNCCL(",
        "Timed out waiting * for recv operation to complete",
        "failed to pass monitoredBarrier in # ms",
        "Some NCCL operations have failed or timed out." }, .gpus = DIAG_GPUS_SOME },
    { INFRA("nccl-transport", "network",
        "the network between the ranks failed: run it again; if it is always the same node, avoid "
        "it and set NCCL_DEBUG=INFO"),
      DIAG_NEAR_END,
      { "^ncclSystemError: ", "^ncclRemoteError: ", "unhandled system error (run with",
        ", remote process exited or there was a network error",
        "NCCL WARN *onnection closed by remote peer", "NCCL WARN *onnection reset by peer",
        "NCCL WARN *onnection refused", "NCCL WARN *onnection timed out",
        "NCCL WARN *No route to host", "NET/IB : Got completion from peer ",
        "NCCL WARN Call to ibv_* failed", "NCCL WARN NET/IB *port error" }, .gpus = DIAG_GPUS_SOME },
    { INFRA("peer-closed", "network",
        "another rank or node went away: look at the rank that ended first, then run it again"),
      DIAG_NEAR_END,
      { "/gloo/transport/tcp/*onnection closed by peer",
        "/gloo/transport/tcp/*onnection reset by peer",
        "ORTE has lost communication with a remote daemon",
        "An ORTE daemon has unexpectedly failed after launch" } },
    { INFRA("ray-node", "node", "a node of the Ray cluster died: run it again"),
      DIAG_NEAR_END,
      { "^ray.exceptions.NodeDiedError", "^ray.exceptions.OwnerDiedError",
        "The node with node id: * has been marked dead" } },
    { INFRA("name-lookup", "network",
        "a host name could not be found: check its spelling and the node's name server, then run "
        "it again"),
      DIAG_NEAR_END,
      { "[Errno -3] Temporary failure in name resolution", "[Errno -2] Name or service not known",
        "Could not resolve host: ", ": Name or service not known$" } },
    { INFRA("connection", "network",
        "a connection was refused or broken: check that the other side runs and can be reached, "
        "then run it again"),
      DIAG_EXCEPTION,
      { "^ConnectionRefusedError: ", "^ConnectionResetError: ",
        "^OSError: [Errno 113] No route to host", "^requests.exceptions.Connect",
        "^requests.exceptions.ReadTimeout: ", "^urllib.error.URLError: ",
        "^urllib3.exceptions.MaxRetryError: ", "^httpx.Connect" } },

    /* ---- the shell's last words -------------------------------------------------------- */
    { PROGRAM("folder-missing", "user",
        "the folder that the command should start in does not exist or may not be entered: check 'workdir:'"),
      DIAG_AT_END, { "cannot enter the folder '*': " } },
    { PROGRAM("command-missing", "user",
        "a command was not found: check its spelling, the PATH, and that the image has it"),
      DIAG_AT_END,
      { ": command not found$", "executable file not found in $PATH", ": not found$",
        "cannot start '*': No such file or directory" } },
    { PROGRAM("path-missing", "user",
        "a file does not exist: check the path, and that it is an input of the job or inside "
        "'code:'"),
      DIAG_AT_END, { ": No such file or directory$", ": [Errno 2] No such file or directory" } },
    { PROGRAM("path-denied", "user",
        "permission denied on a file: check its owner and mode (scripts need to be executable)"),
      DIAG_AT_END, { ": Permission denied$" } },
    { PROGRAM("worker-gone", "unknown",
        "a data loader worker exited silently: run with num_workers=0 to see its error, or "
        "raise 'memory:'"),
      DIAG_NEAR_END, { "DataLoader worker (pid*) exited unexpectedly" } },
    { PROGRAM("nccl-cuda", "unknown",
        "a CUDA call inside NCCL failed, which says little: set NCCL_DEBUG=WARN and read the lines "
        "before"),
      DIAG_NEAR_END, { "^ncclUnhandledCudaError: ", ", unhandled cuda error (run with" } },
    { PROGRAM("killed", "unknown",
        "a process was killed (signal 9) for an unknown reason: often the out-of-memory killer; look "
        "at dmesg on the node, or raise 'memory:'"),
      DIAG_NEAR_END, { "Signal 9 (SIGKILL) received by PID #" } },
#ifndef SW_WITHOUT_ADVICE          /* the runner takes it for unknown, which is tried again as little */
    { PROGRAM("setup", "user",
        "'setup:' failed, so the command was not started: see what it printed before this line"),
      DIAG_AT_END, { "^slipway: setup failed with exit code #: " } },
#endif
};

const size_t diag_log_rule_count = SW_COUNT(diag_log_rules);

size_t diag_reach_lines(enum diag_reach reach)
{
    static const size_t lines[] = {
        [DIAG_ANYWHERE] = DIAG_LINES, [DIAG_NEAR_END] = 150, [DIAG_AT_END] = 12,
        [DIAG_EXCEPTION] = 60,
    };

    return lines[reach];
}

bool diag_log_rule_fits(const struct diag_log_rule *rule, const struct diag_line *line)
{
    if (line->noise || (rule->reach == DIAG_EXCEPTION && !line->exception))
        return false;
    for (size_t i = 0; i < DIAG_PATTERNS && rule->patterns[i]; i++) {
        if (diag_pattern_match(rule->patterns[i], line->text, line->length))
            return !rule->also || rule->also(line);
    }
    return false;
}
