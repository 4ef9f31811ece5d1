/* SPDX-License-Identifier: Apache-2.0 */
/*
 * rules_samples.c - lines as the tools of the field print them.
 *
 * The negative ones are the interesting half: settings, counters at zero, good news, and lines
 * about something else that share a word with the failure.
 */
#include "rules_samples.h"

#include "base/auto.h"

const struct rule_sample rule_samples[] = {
    { "slurm-time",
      { "slurmstepd: error: *** JOB 4711 ON node01 CANCELLED AT 2026-05-21T22:50:54 DUE TO TIME "
        "LIMIT ***",
        "slurmstepd: error: *** STEP 4711.0 ON node01 CANCELLED AT 2026-05-21T22:50:54 DUE TO TIME "
        "LIMIT ***" },
      { "slurmstepd: error: *** JOB 4711 ON node01 CANCELLED AT 2026-05-21T22:50:54 ***",
        "jobs are cancelled DUE TO TIME LIMIT after 4 hours", "time limit: 04:00:00" } },
    { "slurm-preempted",
      { "slurmstepd: error: *** JOB 99 ON n3 CANCELLED AT 2026-05-21T22:50:54 DUE TO PREEMPTION "
        "***",
        "slurmstepd-n3: error: *** JOB 99 ON n3 CANCELLED AT 2026-05-21T22:50:54 DUE TO PREEMPTION "
        "***" },
      { "slurmstepd: error: *** JOB 99 ON n3 CANCELLED AT 2026-05-21T22:50:54 DUE TO TIME LIMIT "
        "***",
        "this queue allows preemption" } },
    { "slurm-node",
      { "slurmstepd: error: *** STEP 12.0 ON n1 CANCELLED AT 2026-05-21T22:50:54 DUE TO NODE "
        "FAILURE,"
        " SEE SLURMCTLD LOG FOR DETAILS ***",
        "srun: error: Node failure on n17",
        "srun: error: Task launch for StepId=40.0 failed on node n2: "
        "Zero Bytes were transmitted or received",
        "srun: error: Task launch for StepId=40.0 failed on node n2: "
        "Communication connection failure",
        "srun: error: Task launch for StepId=7.0 failed on node n2: "
        "Socket timed out on send/recv operation" },
      { "srun: error: Task launch for StepId=7.0 failed on node n2: No such file or directory",
        "srun: error: n17: task 3: Exited with exit code 1", "Node failure handling enabled" } },
    { "slurm-controller",
      { "srun: error: Unable to confirm allocation for job 5: Unable to contact slurm controller "
        "(connect failure)",
        "srun: error: Unable to create step for job 4711: Socket timed out on send/recv operation" },
      { "srun: error: Unable to create step for job 5: Invalid node name specified",
        "my server: Unable to contact slurm controller" } },
    { "oom-kill",
      { "slurmstepd: error: Detected 1 oom_kill event in StepId=4711.0. Some of the step tasks "
        "have "
        "been OOM Killed.",
        "slurmstepd: error: Detected 3 oom-kill event(s) in StepId=4711.batch cgroup.",
        "srun: error: node3: task 3: Out Of Memory",
        "[1234.5] Out of memory: Killed process 4242 (python) total-vm:99999kB",
        "Memory cgroup out of memory: Killed process 4242 (python)",
        "oom-kill:constraint=CONSTRAINT_MEMCG,nodemask=(null),task=python,pid=4242" },
      { "Killed", "slurmstepd: error: Detected 0 problems", "oom_score_adj=0",
        "watching for oom-kill events", "srun: error: node3: task 3: Killed" } },
    { "evicted",
      { "The node was low on resource: ephemeral-storage. Threshold quantity: 10Gi, available: "
        "9Gi.",
        "Preempted by default/big-job on node gpu-7",
        "Pod was terminated in response to imminent node shutdown." },
      { "the node was low on coffee", "Preemption: disabled" } },
    { "xid-hardware",
      { "NVRM: Xid (PCI:0000:3b:00): 79, pid=1234, name=python, GPU has fallen off the bus.",
        "[ 8123.456789] NVRM: Xid (PCI:0000:3b:00): 48, pid='<unknown>', name=<unknown>, DBE",
        "May 21 22:50:54 n1 kernel: NVRM: Xid (PCI:0000:86:00): 94, pid=99, Contained memory error",
        "NVRM: Xid (PCI:0000:3b:00.0): 119, pid=7, name=python, Timeout after 6s of waiting for "
        "RPC" },
      { "NVRM: Xid (PCI:0000:3b:00): 31, pid=1234, name=python, MMU Fault",
        "NVRM: Xid (PCI:0000:3b:00): 13, Graphics Exception", "Xid errors: 0",
        "NVRM: Xid (PCI:0000:3b:00): 63, pid=1, Row Remapper: New row marked for remapping",
        "see the manual about Xid 79 errors", "NVRM: Xid (PCI:0000:3b:00): 790, pid=1" } },
    { "gpu-ecc",
      { "RuntimeError: CUDA error: uncorrectable ECC error encountered",
        "CUDA_ERROR_ECC_UNCORRECTABLE: uncorrectable ECC error encountered" },
      { "Volatile Uncorr. ECC: 0", "uncorrectable ECC errors: 0", "ECC error counting enabled" } },
    { "gpu-lost",
      { "Unable to determine the device handle for GPU 0000:3B:00.0: Unknown Error",
        "NVRM: GPU 0000:3b:00.0: GPU has fallen off the bus.",
        "Unable to determine the device handle for GPU0000:3B:00.0: GPU is lost. Reboot the system",
        "RuntimeError: CUDA error: Invalid access of peer GPU memory over nvlink or a hardware "
        "error" },
      { "the GPU may fall off the bus when it is hot", "checking the device handle for GPU 0: "
        "ok" } },
    { "gpu-busy",
      { "RuntimeError: CUDA error: CUDA-capable device(s) is/are busy or unavailable",
        "RuntimeError: CUDA error: system not yet initialized" },
      { "GPU 0 is busy (97 %)", "system initialized" } },
    { "driver-broken",
      { "Failed to initialize NVML: Driver/library version mismatch",
        "NVIDIA-SMI has failed because it couldn't communicate with the NVIDIA driver. Make sure",
        "nvidia-container-cli: initialization error: nvml error: driver not loaded" },
      { "NVML initialized, driver 550.54.15", "UserWarning: Can't initialize NVML" } },
    { "cuda-memory",
      { "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB. GPU 0 has a total "
        "capacity of 79.11 GiB of which 1.19 GiB is free.",
        "[rank3]: torch.cuda.OutOfMemoryError: CUDA out of memory. Tried to allocate 20.00 MiB",
        "RuntimeError: CUDA out of memory. Tried to allocate 512.00 MiB (GPU 0; 15.78 GiB total)",
        "RuntimeError: CUDA error: CUBLAS_STATUS_ALLOC_FAILED when calling `cublasCreate(handle)`",
        "jaxlib.xla_extension.XlaRuntimeError: RESOURCE_EXHAUSTED: Out of memory while trying to "
        "allocate 8589934592 bytes.",
        "  what():  CUDA out of memory. Tried to allocate 2.00 GiB" },
      { "CUDA out of memory, retrying with batch size 8",
        "| WARNING | ran out of memory in forward pass, skipping batch",
        "set PYTORCH_CUDA_ALLOC_CONF to avoid CUDA out of memory errors",
        "max memory allocated: 70 GiB", "if it runs out of memory use a smaller batch" } },
    { "device-assert",
      { "RuntimeError: CUDA error: device-side assert triggered",
        "../aten/src/ATen/native/cuda/Loss.cu:250: nll_loss_forward_reduce_cuda_kernel_2d: block: "
        "[0,0,0], thread: [3,0,0] Assertion `t >= 0 && t < n_classes` failed.",
        "[rank0]:[E521 22:50:54.1 ProcessGroupNCCL.cpp:1595] [PG ID 0 Rank 0] Process group "
        "watchdog "
        "thread terminated with exception: CUDA error: device-side assert triggered" },
      { "Compile with `TORCH_USE_CUDA_DSA` to enable device-side assertions.",
        "AssertionError: labels out of range" } },
    { "illegal-access",
      { "RuntimeError: CUDA error: an illegal memory access was encountered",
        "CUDA_ERROR_ILLEGAL_ADDRESS: an illegal memory access was encountered",
        "RuntimeError: CUDA error: unspecified launch failure" },
      { "no illegal memory access was found", "CUDA error: out of memory" } },
    { "gpu-memory",
      { "n1:99:142 [0] enqueue.cc:1 NCCL WARN Cuda failure 2 'out of memory'",
        "CUDA_ERROR_OUT_OF_MEMORY: out of memory" },
      { "CUDA_ERROR_OUT_OF_MEMORY is 2", "Cuda failure 999 'unknown error'" } },
    { "xid-program",
      { "NVRM: Xid (PCI:0000:3b:00): 31, pid=1234, name=python, Ch 00000008, MMU Fault: ENGINE GR",
        "NVRM: Xid (PCI:0000:3b:00): 13, Graphics SM Warp Exception: Out Of Range Address" },
      { "NVRM: Xid (PCI:0000:3b:00): 79, GPU has fallen off the bus",
        "NVRM: Xid (PCI:0000:3b:00): 999, the future", "Xid 31" } },
    { "gpu-architecture",
      { "RuntimeError: CUDA error: no kernel image is available for execution on the device" },
      { "NVIDIA H100 with CUDA capability sm_90 is not compatible with the current PyTorch" } },
    { "gpu-number",
      { "RuntimeError: CUDA error: invalid device ordinal" },
      { "using device ordinal 0", "CUDA error: invalid argument" } },
    { "cuda-fork",
      { "RuntimeError: Cannot re-initialize CUDA in forked subprocess. To use CUDA with "
        "multiprocessing, you must use the 'spawn' start method" },
      { "RuntimeWarning: os.fork() was called" } },
    { "shm",
      { "RuntimeError: DataLoader worker (pid 4242) is killed by signal: Bus error. It is possible "
        "that dataloader's workers are out of shared memory.",
        "ERROR: Unexpected bus error encountered in worker. This might be caused by insufficient "
        "shared memory (shm).",
        "RuntimeError: unable to write to file </torch_4242_1>",
        "OSError: [Errno 28] No space left on device: '/dev/shm/psm_1'",
        "n1:1:1 [0] misc/shmutils.cc:72 NCCL WARN Error while creating shared memory segment "
        "/dev/shm/nccl-1Xa (size 5767524)",
        "  traceback : Signal 7 (SIGBUS) received by PID 4242" },
      { "shm size: 64 GiB", "OSError: [Errno 28] No space left on device: '/results/a'",
        "bus error rate: 0" } },
    { "worker-killed",
      { "RuntimeError: DataLoader worker (pid 4242) is killed by signal: Killed. " },
      { "RuntimeError: DataLoader worker (pid 4242) is killed by signal: Terminated. ", "Killed",
        "RuntimeError: DataLoader worker (pid(s) 4242) exited unexpectedly" } },
    { "host-memory",
      { "MemoryError", "MemoryError: Unable to allocate 12.0 GiB for an array",
        "numpy.core._exceptions._ArrayMemoryError: Unable to allocate 74.5 GiB for an array",
        "OSError: [Errno 12] Cannot allocate memory", "  what():  std::bad_alloc",
        "RuntimeError: [enforce fail at alloc_cpu.cpp:117] . DefaultCPUAllocator: can't allocate "
        "memory: you tried to allocate 99999 bytes." },
      { "ImportError: libgomp.so.1: cannot allocate memory in static TLS block",
        "Memory: 31 GiB free", "caught MemoryError, halving the cache", "Killed" } },
    { "driver-old",
      { "UserWarning: CUDA initialization: The NVIDIA driver on your system is too old (found "
        "version "
        "11040).",
        "RuntimeError: CUDA driver version is insufficient for CUDA runtime version",
        "nvidia-container-cli: requirement error: unsatisfied condition: cuda>=12.4, please update "
        "your driver" },
      { "NVIDIA driver 550.54.15, not too old", "Driver Version: 550.54.15   CUDA Version: 12.4"
        } },
    { "gpu-none",
      { "RuntimeError: CUDA error: no CUDA-capable device is detected",
        "RuntimeError: No CUDA GPUs are available",
        "RuntimeError: Found no NVIDIA driver on your system. Please check that you have an "
        "NVIDIA GPU",
        "ImportError: libcuda.so.1: cannot open shared object file: No such file or directory",
        "docker: Error response from daemon: could not select device driver \"\" with "
        "capabilities: "
        "[[gpu]]." },
      { "torch.cuda.is_available(): False", "No GPU/TPU found, falling back to CPU.",
        "CUDA-capable devices detected: 8" } },
    { "torch-without-cuda",
      { "AssertionError: Torch not compiled with CUDA enabled" },
      { "torch 2.4.0+cu124", "AssertionError" } },
    { "quota",
      { "OSError: [Errno 122] Disk quota exceeded: '/home/u/ckpt.pt'",
        "cp: error writing 'x': Disk quota exceeded" },
      { "disk quota: 80 % used", "errno 12" } },
    { "disk-full",
      { "OSError: [Errno 28] No space left on device", "tar: /results/x: Cannot write: No space "
        "left "
        "on device", "Error: No space left on device (os error 28)",
        "RuntimeError: [enforce fail at inline_container.cc:783] . PytorchStreamWriter failed "
        "writing "
        "file data/12: file write failed" },
      { "space left on device: 120 GiB", "No space left on device? then clean /tmp first",
        "exit 28" } },
    { "file-system",
      { "OSError: [Errno 116] Stale file handle: '/lustre/x'", "ls: cannot access 'x': Stale file "
        "handle", "OSError: [Errno 5] Input/output error",
        "OSError: [Errno 107] Transport endpoint is not connected: '/mnt/s3'" },
      { "input/output error rate 0", "cat: x: No such file or directory" } },
    { "read-only",
      { "OSError: [Errno 30] Read-only file system: '/opt/x'",
        "mkdir: cannot create directory '/opt/x': Read-only file system" },
      { "mounted /data as a read-only file system" } },
    { "image-denied",
      { "docker: Error response from daemon: pull access denied for foo, repository does not "
        "exist or "
        "may require 'docker login'.",
        "pyxis: [ERROR] URL https://nvcr.io/proxy_auth returned error code: 401 Unauthorized",
        "Failed to pull image \"nvcr.io/x\": unauthorized: authentication required" },
      { "logged in to nvcr.io", "HTTPError: 401 Client Error: Unauthorized for url" } },
    { "image-missing",
      { "Error response from daemon: manifest for ubuntu:99.99 not found: manifest unknown: "
        "manifest "
        "unknown",
        "pyxis: [ERROR] URL https://registry/v2/x/manifests/y returned error code: 404 Not Found" },
      { "manifest written", "HTTP/1.1 404 Not Found" } },
    { "image-architecture",
      { "exec /usr/bin/python: exec format error", "bash: ./train: cannot execute binary file: "
        "Exec "
        "format error" },
      { "output format: error only" } },
    { "mount-failed",
      { "slurmstepd: error: pyxis:     enroot-mount: failed to mount: /lustre/nosuch at /run/user/0/x/data: "
        "No such "
        "file or directory" },
      { "slurmstepd: error: pyxis:     [INFO] mounting /data" } },
    { "image-unusable",
      { "slurmstepd: error: pyxis:     enroot-aufs2ovlfs: failed to create opaque ovlfs whiteout: "
        "/tmp/enroot.x: "
        "Operation not permitted",
        "slurmstepd: error: pyxis:     [ERROR] No such file or directory: /lustre/images/app.sqsh",
        "slurmstepd: error: pyxis:     [ERROR] Invalid image format: /lustre/images/app.sqsh" },
      { "[ERROR] No such file or directory: /data/train.json", "pyxis: imported docker image: ubuntu:22.04",
        "wrote app.sqsh" } },
    { "container-start",
      { "slurmstepd: error: pyxis: child 81124 failed with error code: 1",
        "slurmstepd: error: pyxis: failed to create container filesystem for image: /lustre/app.sqsh",
        "slurmstepd: error: pyxis: container start failed with error code: 1" },
      { "child 3 failed with error code: 1", "slurmstepd: pyxis: importing docker image: ubuntu" } },
    { "image-pull",
      { "slurmstepd: error: pyxis: failed to import docker image: registry.example/team/app:1",
         "toomanyrequests: You have reached your pull rate limit.", "pyxis: failed to import docker "
        "image", "Back-off pulling image \"nvcr.io/nvidia/tao:6\"",
        "Error response from daemon: Get \"https://nvcr.io/v2/\": net/http: TLS handshake "
        "timeout" },
      { "pulling image nvcr.io/nvidia/tao:6", "Image pulled in 12 s" } },
    { "store-denied",
      { "botocore.exceptions.ClientError: An error occurred (403) when calling the HeadObject "
        "operation: Forbidden",
        "botocore.exceptions.ClientError: An error occurred (AccessDenied) when calling the "
        "GetObject "
        "operation: Access Denied",
        "botocore.exceptions.NoCredentialsError: Unable to locate credentials",
        "botocore.exceptions.ClientError: An error occurred (ExpiredToken) when calling the "
        "PutObject" },
      { "botocore.exceptions.ClientError: An error occurred (404) when calling the HeadObject "
        "operation: Not Found", "403 images loaded" } },
    { "store-missing",
      { "botocore.exceptions.ClientError: An error occurred (404) when calling the HeadObject "
        "operation: Not Found",
        "botocore.errorfactory.NoSuchBucket: An error occurred (NoSuchBucket) when calling the "
        "ListObjectsV2 operation" },
      { "An error occurred (403) when calling the HeadObject operation", "404 images skipped" } },
    { "store-busy",
      { "botocore.exceptions.ClientError: An error occurred (SlowDown) when calling the GetObject "
        "operation (reached max retries: 4): Please reduce your request rate.",
        "botocore.exceptions.ClientError: An error occurred (503) when calling the GetObject" },
      { "SlowDown handling: on", "An error occurred (403) when calling" } },
    { "store-unreachable",
      { "botocore.exceptions.EndpointConnectionError: Could not connect to the endpoint URL: "
        "\"https://s3.example/\"",
        "botocore.exceptions.ConnectTimeoutError: Connect timeout on endpoint URL: "
        "\"https://s3/\"" },
      { "endpoint URL: https://s3.example", "connected to the endpoint" } },
    { "hub-denied",
      { "huggingface_hub.errors.GatedRepoError: 401 Client Error. (Request ID: x)",
        "requests.exceptions.HTTPError: 401 Client Error: Unauthorized for url: https://hub/x",
        "OSError: foo/bar is not a local folder and is not a valid model identifier listed on the "
        "hub" },
      { "401 images", "huggingface_hub 0.24.1" } },
    { "hub-busy",
      { "huggingface_hub.utils._errors.HfHubHTTPError: 429 Client Error: Too Many Requests",
        "requests.exceptions.HTTPError: 503 Server Error: Service Unavailable for url: https://x",
        "requests.exceptions.HTTPError: 429 Client Error: Too Many Requests for url: https://x" },
      { "503 samples done", "429 of 1000 files" } },
    { "tracker-login",
      { "wandb: ERROR api_key not configured (no-tty). call wandb.login(key=[your_api_key])",
        "wandb.errors.errors.UsageError: api_key not configured (no-tty)." },
      { "wandb: logged in", "wandb: ERROR failed to sync" } },
    { "port-taken",
      { "torch.distributed.DistNetworkError: The server socket has failed to listen on any local "
        "network address. port: 29500, useIpv6: false, code: -98, name: EADDRINUSE",
        "OSError: [Errno 98] Address already in use", "RuntimeError: Address already in use" },
      { "[W socket.cpp:464] [c10d] The server socket has failed to bind to [::]:29500 (errno: 98 - "
        "Address already in use).", "listening on port 29500" } },
    { "rendezvous",
      { "torch.distributed.DistNetworkError: The client socket has timed out after 600000ms while "
        "trying to connect to (node0, 29500).",
        "torch.distributed.DistStoreError: Timed out after 1801 seconds waiting for clients. 1/2 "
        "clients joined.",
        "torch.distributed.elastic.rendezvous.api.RendezvousTimeoutError",
        "torch.distributed.elastic.rendezvous.api.RendezvousConnectionError: The connection to the "
        "C10d store has failed.",
        "RuntimeError: The client socket has failed to connect to any network address of (n0, "
        "29500)" },
      { "[W socket.cpp:663] [c10d] The client socket has failed to connect to [localhost]:29500 "
        "(errno: 99 - Cannot assign requested address).",
        "rendezvous complete: 2 nodes", "[I] starting rendezvous" } },
    { "library-missing",
      { "./train: error while loading shared libraries: libcudart.so.11.0: cannot open shared "
        "object "
        "file: No such file or directory",
        "ImportError: libGL.so.1: cannot open shared object file: No such file or directory",
        "/lib/libc.so.6: version `GLIBC_2.38' not found (required by ./train)" },
      { "loading shared libraries", "libcudart.so.11.0 found" } },
    { "module-missing",
      { "ModuleNotFoundError: No module named 'flash_attn'",
        "ImportError: cannot import name 'foo' from 'bar' (/x/bar.py)" },
      { "WARNING: ModuleNotFoundError: No module named 'apex', continuing without it",
        "module named foo loaded" } },
    { "file-missing",
      { "FileNotFoundError: [Errno 2] No such file or directory: '/data/train.json'",
        "IsADirectoryError: [Errno 21] Is a directory: '/data'" },
      { "FileNotFoundError: [Errno 2] No such file or directory: '/tmp/pymp-x1y2'",
        "optional file not found, using defaults" } },
    { "permission",
      { "PermissionError: [Errno 13] Permission denied: '/results/x'" },
      { "permissions: rw", "PermissionError: Access Denied" } },
    { "python-syntax",
      { "SyntaxError: invalid syntax", "IndentationError: unexpected indent" },
      { "SyntaxWarning: invalid escape sequence", "no SyntaxError" } },
    { "config",
      { "omegaconf.errors.ConfigAttributeError: Key 'lrr' is not in struct",
        "hydra.errors.ConfigCompositionException", "json.decoder.JSONDecodeError: Expecting "
        "value: line "
        "1 column 1 (char 0)", "yaml.scanner.ScannerError: mapping values are not allowed here" },
      { "config loaded from a.yaml", "omegaconf 2.3.0" } },
    { "tensor-shape",
      { "RuntimeError: Error(s) in loading state_dict for ResNet:",
        "RuntimeError: mat1 and mat2 shapes cannot be multiplied (32x512 and 1024x10)" },
      { "RuntimeError: CUDA error: out of memory", "size mismatch is fine here" } },
    { "python",
      { "KeyError: 'labels'", "ValueError: num_samples should be a positive integer value",
        "AssertionError", "AttributeError: 'NoneType' object has no attribute 'shape'",
        "TypeError: forward() missing 1 required positional argument: 'x'" },
      { "WARNING:root:ValueError: bad sample, skipped", "RuntimeError: something else",
        "KeyErrors are counted", "  ValueError: inside an indented quotation" } },
    { "interrupted", { "KeyboardInterrupt" }, { "press Ctrl-C for KeyboardInterrupt" } },
    { "loss-nan",
      { "Loss is nan, stopping training", "FloatingPointError: Minimum loss scale reached "
        "(0.0001).", "loss is nan, stopping", "Model diverged with loss = nan", "non-finite loss, ending "
                                                                                "training",
        "Stopping: NaN loss encountered at step 12" },
      { "loss: nan", "loss 0.31", "nan_to_num is used", "no NaN in losses" } },
    { "arguments",
      { "train.py: error: the following arguments are required: --data",
        "train.py: error: unrecognized arguments: --batchsize 3",
        "train.py: error: argument --lr: invalid float value: 'x'", "Error: No such option: "
        "--foo" },
      { "arguments: Namespace(lr=0.1)", "ignoring unrecognized arguments: --x" } },
    { "segfault",
      { "Fatal Python error: Segmentation fault", "bash: line 1: 42 Segmentation fault (core "
        "dumped) "
        "python train.py", "bash: line 1:   663 Segmentation fault      python3 segv.py",
        "  traceback : Signal 11 (SIGSEGV) received by PID 4242",
        "srun: error: n1: task 289: Segmentation fault (core dumped)" },
      { "segmentation faults: none", "training a segmentation model" } },
    { "nccl-usage",
      { "ncclInvalidUsage: This usually reflects invalid usage of NCCL library.",
        "Duplicate GPU detected : rank 1 and rank 0 both on CUDA device 3b000" },
      { "NCCL version 2.21.5+cuda12.4" } },
    { "nccl-timeout",
      { "[rank1]:[E521 22:50:54.123 ProcessGroupNCCL.cpp:616] [Rank 1] Watchdog caught collective "
        "operation timeout: WorkNCCL(SeqNum=1234, OpType=ALLREDUCE, NumelIn=1, NumelOut=1, "
        "Timeout(ms)=600000) ran for 600029 milliseconds before timing out.",
        "[E ProcessGroupNCCL.cpp:475] [Rank 0] Some NCCL operations have failed or timed out. "
        "Due to "
        "the asynchronous nature of CUDA kernels",
        "RuntimeError: Ranks 1 failed to pass monitoredBarrier in 300000 ms" },
      { "TORCH_NCCL_ASYNC_ERROR_HANDLING=1", "ProcessGroupNCCL initialization options: "
        "TIMEOUT(ms): "
        "600000", "[I521 ProcessGroupNCCL.cpp:852] NCCL timeout set to 600000 ms",
        "NCCL INFO timeout error handling enabled" } },
    { "nccl-transport",
      { "ncclSystemError: System call (e.g. socket, malloc) or external library call failed or "
        "device "
        "error.",
        "ncclRemoteError: A call failed possibly due to a network error or a remote process "
        "exiting "
        "prematurely.",
        "torch.distributed.DistBackendError: NCCL error in: ../torch/csrc/NCCLUtils.hpp:121, "
        "unhandled "
        "system error (run with NCCL_DEBUG=INFO for details), NCCL version 2.21.5",
        "n1:99:142 [0] misc/socket.cc:484 NCCL WARN socketStartConnect: Connect to 10.0.0.2<41000> "
        "failed : Connection refused",
        "n1:99:142 [3] transport/net_ib.cc:1295 NCCL WARN NET/IB : Got completion from peer "
        "10.0.0.2<40000> with status=12 opcode=0 len=0 vendor err 129",
        "NET/IB : Got completion from peer 10.5.0.34<33956> with error 5, opcode 0, len 1" },
      { "TORCH_NCCL_ASYNC_ERROR_HANDLING is deprecated, use TORCH_NCCL_...",
        "n1:99:142 [0] NCCL INFO NET/IB : no error found", "export NCCL_ASYNC_ERROR_HANDLING=1",
        "n1:99 [0] NCCL WARN NET/Plugin: Could not find: libnccl-net.so",
        "n1:99:142 [0] NCCL INFO misc/socket.cc:47 -> 3 ncclSystemError: ",
        "NCCL_DEBUG=INFO" } },
    { "peer-closed",
      { "RuntimeError: [../third_party/gloo/gloo/transport/tcp/pair.cc:534] Connection closed by "
        "peer "
        "[10.0.0.2]:41000",
        "ORTE has lost communication with a remote daemon." },
      { "connection closed by peer, retrying", "gloo backend selected" } },
    { "ray-node",
      { "ray.exceptions.NodeDiedError: Task failed because the node it was running on is dead",
        "The node with node id: 3f and address: 10.0.0.2 has been marked dead because the "
        "detector" },
      { "ray 2.35.0", "node id: 3f is alive" } },
    { "name-lookup",
      { "socket.gaierror: [Errno -3] Temporary failure in name resolution",
        "curl: (6) Could not resolve host: s3.example", "ssh: n1: Name or service not known" },
      { "resolved host s3.example", "name resolution took 3 ms" } },
    { "connection",
      { "ConnectionRefusedError: [Errno 111] Connection refused",
        "requests.exceptions.ConnectionError: HTTPSConnectionPool(host='x', port=443): Max retries",
        "urllib.error.URLError: <urlopen error timed out>" },
      { "WARNING connection refused, retrying in 5 s", "connection established" } },
    { "folder-missing",
      { "slipway: cannot enter the folder '/w/gone': No such file or directory" },
      { "cannot enter the building" } },
    { "command-missing",
      { "slipway: cannot start 'torchrn': No such file or directory",
         "bash: line 1: torchrun: command not found", "sh: 1: torchrun: not found",
        "exec: \"torchrn\": executable file not found in $PATH: unknown" },
      { "command not found in cache, building", "checkpoint not found, starting from scratch" } },
    { "path-missing",
      { "bash: ./train.sh: No such file or directory", "python: can't open file '/w/train.py': "
        "[Errno "
        "2] No such file or directory" },
      { "No such file or directory: is fine" } },
    { "path-denied",
      { "bash: ./train.sh: Permission denied" },
      { "Permission denied? then use sudo" } },
    { "setup",
      { "slipway: setup failed with exit code 3: the command was not started" },
      { "setup failed with exit code 3: the command was not started" } },
    { "worker-gone",
      { "RuntimeError: DataLoader worker (pid(s) 4242, 4243) exited unexpectedly" },
      { "DataLoader workers exited" } },
    { "nccl-cuda",
      { "ncclUnhandledCudaError: Call to CUDA function failed.",
        "torch.distributed.DistBackendError: NCCL error in: x.cpp:1, unhandled cuda error (run "
        "with "
        "NCCL_DEBUG=INFO for details)" },
      { "NCCL INFO cudaDriverVersion 12040" } },
    { "killed",
      { "  traceback : Signal 9 (SIGKILL) received by PID 4242" },
      { "Killed", "Sending process 4242 closing signal SIGTERM",
        "  traceback : Signal 15 (SIGTERM) received by PID 4242" } },
    { "gpu-not-asked",
      { "RuntimeError: No CUDA GPUs are available", "RuntimeError: Found no NVIDIA driver on your "
        "system. Please check that you have an NVIDIA GPU" },
      { "torch.cuda.is_available(): False", "8 CUDA GPUs are available" } },
};

const size_t rule_sample_count = SW_COUNT(rule_samples);
