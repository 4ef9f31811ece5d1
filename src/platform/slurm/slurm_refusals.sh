# SPDX-License-Identifier: Apache-2.0
#
# slurm_refusals.sh - what Slurm says when it certainly queued nothing.
#
# sbatch ends with 1 for many reasons, and some of them (an answer that was cut, a controller that was slow) leave a job in
# the queue. So only these texts are refusals; whatever else it says, the queue is asked for the job, and where that does not
# show it the answer is "maybe". They are the words of slurm_strerror() and of sbatch's own reading of its options, the same
# since Slurm 17.

is_refused() {
    case $1 in
    # where and for whom
    *'Invalid partition name specified'* | *'invalid partition specified'* | *'Default partition not set'* | \
        *'No partition specified or system default partition'* | *'Required partition not available'* | \
        *'Requested partition configuration not available'* | *'Invalid account'* | *'Invalid qos'* | \
        *'Invalid QOS'* | *'not permitted to use this partition'* | *'Access/permission denied'* | \
        *'User not found on host'* | *'Invalid user id'* | *'Invalid group id'* | \
        *'Requested reservation is invalid'* | *'requested reservation is not usable'* | \
        *'Access denied to requested reservation'* | *'Access denied to reservation'*) ;;
    # how much
    *'Job violates accounting/QOS policy'* | *'Requested time limit is invalid'* | \
        *'Time limit specification required'* | *'Requested node configuration is not available'* | \
        *'Requested nodes not in this partition'* | *'Required node not available'* | \
        *'Required nodes outside of the reservation'* | *'Invalid node name specified'* | \
        *'Node count specification invalid'* | *'More processors requested than permitted'* | \
        *'CPU count specification invalid'* | *'CPU count per node can not be satisfied'* | \
        *'Memory required by task is not available'* | *'Memory specification can not be satisfied'* | \
        *'Invalid generic resource (gres) specification'* | *'Invalid Trackable RESource (TRES) specification'* | \
        *'Requested GRES option unsupported'* | *'Invalid feature specification'* | \
        *'Invalid license specification'* | *'Invalid job array specification'* | *'Job dependency problem'* | \
        *'Circular job dependency'*) ;;
    # what sbatch finds by itself, before it asks the controller
    *'sbatch: unrecognized option'* | *'sbatch: invalid option'* | *'sbatch: option '* | *'Try "sbatch --help"'* | \
        *'Invalid numeric value'* | *'Invalid time specification'* | *'Invalid --'* | \
        *'Invalid directive found in batch script'* | *'This does not look like a batch script'* | \
        *'Batch script is empty'* | *'Unable to open file'*) ;;
    *) return 1 ;;
    esac
}

# The controller's own word for it, without a reason: a plugin of the site said no, if the queue has nothing of the job, too.
is_refused_without_reason() { case $1 in *'Unspecified error'*) return 0 ;; esac; return 1; }
