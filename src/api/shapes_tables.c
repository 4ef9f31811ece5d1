/* SPDX-License-Identifier: Apache-2.0 */
/*
 * shapes_tables.c - every document, field by field: the one list of what `-o json` prints.
 *
 * One thing has one name everywhere: a moment is NAME_at (`at` alone for "when it happened"), a length of
 * time NAME_ms, an amount of memory or data NAME_bytes, a job is `id` in its own row and `job` elsewhere.
 * A new field is one line here and one where it is written; a test compares the two for every verb.
 */
#include "api/shapes.h"

#define ALWAYS(name, type, help, ...) { name, type, API_ALWAYS, help, ##__VA_ARGS__ }
#define MAYBE(name, type, help, ...) { name, type, API_NULL, help, ##__VA_ARGS__ }
#define WHERE_MEANT(name, type, help, ...) { name, type, API_OPTIONAL, help, ##__VA_ARGS__ }
#define END { 0 }
#define VERSION ALWAYS("version", API_INT, "version of this document: 1")

/* ---- jobs ----------------------------------------------------------------------------------------- */

static const struct api_field unreachable[] = {
    ALWAYS("platform", API_TEXT, "which platform did not answer"),
    ALWAYS("message", API_TEXT, "why"),
    END
};

#define UNREACHABLE                                                                                \
    ALWAYS("unreachable", API_LIST, "platforms that did not answer: their jobs are as last seen", unreachable)

const struct api_field api_shape_progress[] = {
    MAYBE("epoch", API_INT, "epochs so far"),
    MAYBE("epochs", API_INT, "epochs in all"),
    MAYBE("step", API_INT, "steps so far"),
    MAYBE("steps", API_INT, "steps in all"),
    MAYBE("fraction", API_NUMBER, "0 to 1: how much is done"),
    MAYBE("fraction_of_epoch", API_BOOL, "whether fraction, step and steps are about the current epoch only"),
    MAYBE("rate", API_NUMBER, "steps per second"),
    MAYBE("seen_at", API_TIME, "when this was read from the log", NULL, "seen_ms"),
    END
};

static const struct api_field outputs[] = {
    ALWAYS("path", API_TEXT, "path in the job"),
    ALWAYS("to", API_TEXT, "URI or path where it goes"),
    END
};

static const struct api_field split[] = {
    ALWAYS("group", API_TEXT, "id of the group"),
    ALWAYS("id", API_INT, "its number, from 0"),
    ALWAYS("count", API_INT, "how many splits there are"),
    END
};

static const struct api_field attempts[] = {
    ALWAYS("attempt", API_INT, "its number, from 1", NULL, "number"),
    MAYBE("status", API_TEXT, "how it ended or is, as the job's", NULL, "state"),
    MAYBE("reason", API_TEXT, "one word for programs"),
    MAYBE("message", API_TEXT, "for people"),
    MAYBE("exit_code", API_INT, "exit code of the program"),
    MAYBE("signal", API_POSITIVE, "signal that ended it"),
    MAYBE("node", API_TEXT, "where it ran, or which node failed"),
    MAYBE("backend_job_id", API_TEXT, "its name on the platform", NULL, "remote_id"),
    MAYBE("started_at", API_TIME, "when its command began", NULL, "started_ms"),
    MAYBE("ended_at", API_TIME, "when it ended", NULL, "ended_ms"),
    MAYBE("cause", API_TEXT, "of a failure: user, node, gpu, network, ..."),
    END
};

static const struct api_field used_gpu[] = {
    ALWAYS("uuid", API_TEXT, "its UUID"), ALWAYS("name", API_TEXT, "its model"),
    MAYBE("used_percent", API_INT, "how busy it is"), ALWAYS("memory_used", API_INT, "bytes in use"),
    ALWAYS("memory_total", API_INT, "bytes it has"), END
};
#define USE \
    ALWAYS("at", API_TIME, "when it was measured", NULL, "at_ms"),                                 \
    MAYBE("cpu_seconds", API_NUMBER, "CPU time so far"),                                           \
    MAYBE("cpus", API_NUMBER, "CPUs busy, on average since it started"),                           \
    MAYBE("memory_bytes", API_INT, "memory in use"), ALWAYS("gpus", API_LIST, "its GPUs", used_gpu)
static const struct api_field live[] = { USE, END };

/* In lists. */
#define JOB_ROW                                                                                    \
    ALWAYS("id", API_TEXT, "id of the job"),                                                       \
    ALWAYS("name", API_TEXT, "name of the job"),                                                   \
    ALWAYS("status", API_TEXT, "Unknown, Pending, Running, Paused, Complete, Error or Canceled"),  \
    ALWAYS("reason", API_TEXT, "one word for programs: exit, oom, queued, ..."),                   \
    ALWAYS("message", API_TEXT, "the same for people"),                                            \
    ALWAYS("backend_type", API_TEXT, "its platform"),                                              \
    MAYBE("place", API_TEXT, "which engine or cluster, where there is more than one"),             \
    ALWAYS("backend_job_id", API_TEXT, "its name on the platform"),                                \
    ALWAYS("backend_details", API_OBJECT, "what else the platform said when it took the job"),     \
    ALWAYS("results_dir", API_TEXT, "folder of the results, where the job ran"),                   \
    ALWAYS("results_place", API_TEXT, "the same with its host in front: HOST:PATH"),               \
    ALWAYS("phase", API_TEXT, "submitting, active or over: over means that nothing changes any more"), \
    ALWAYS("canceling", API_BOOL, "whether a cancel was asked for"),                               \
    ALWAYS("attempt", API_INT, "number of the newest attempt, from 1"),                            \
    MAYBE("exit_code", API_INT, "exit code of the program"),                                       \
    MAYBE("signal", API_POSITIVE, "signal that ended it"),                                         \
    MAYBE("failed_replica", API_INT, "rank that failed first"),                                    \
    MAYBE("node", API_TEXT, "where it ran, or which node failed"),                                 \
    MAYBE("err_class", API_TEXT, "whose failure: ERR_PROGRAM or ERR_INFRA"),                       \
    MAYBE("cause", API_TEXT, "of a failure: user, node, gpu, network, ..."),                       \
    MAYBE("suggestion", API_TEXT, "what to do about it"),                                          \
    ALWAYS("created_at", API_TIME, "when the store took it"),                                      \
    MAYBE("submitted_at", API_TIME, "when the platform took the newest attempt"),                  \
    MAYBE("started_at", API_TIME, "when its command began; never before submitted_at"),            \
    MAYBE("ended_at", API_TIME, "when it ended"),                                                  \
    ALWAYS("updated_at", API_TIME, "when something last changed"),                                 \
    MAYBE("seen_at", API_TIME, "when its platform last answered"),                                 \
    MAYBE("next_attempt_at", API_TIME, "when it is retried"),                                  \
    MAYBE("expected_start_at", API_TIME, "when the platform expects to start it"),                 \
    MAYBE("starts_in_ms", API_INT, "how long until one of the two"),                               \
    MAYBE("progress", API_OBJECT, "how far its log says it is", api_shape_progress),               \
    MAYBE("last_line", API_TEXT, "last line of its log"),                                          \
    MAYBE("last_output_at", API_TIME, "when its log last grew"),                                   \
    MAYBE("live", API_OBJECT, "CPU, memory and GPU use: what the platform measures, or --use asks", live), \
    MAYBE("runner", API_OBJECT, "last report of the runner in the job, as it wrote it"),           \
    ALWAYS("age_ms", API_INT, "since created_at"),                                                 \
    MAYBE("seen_age_ms", API_INT, "since seen_at"),                                                \
    MAYBE("duration_ms", API_INT, "how long the newest attempt ran or has been running"),         \
    MAYBE("labels", API_MAP, "its labels"),                                                        \
    MAYBE("command", API_TEXT, "what it runs, as a shell would take it"),                          \
    MAYBE("gpus", API_INT, "GPUs of each node"),                                                   \
    MAYBE("gpu_type", API_TEXT, "GPU type it asks for"),                                           \
    MAYBE("nodes", API_INT, "nodes it asks for"),                                                  \
    MAYBE("user", API_TEXT, "who submitted it")

/* About one job, besides. Null: it was adopted without its plan, or the job does not say. */
#define JOB_WHOLE                                                                                  \
    MAYBE("outputs", API_LIST, "outputs that go somewhere", outputs),                              \
    MAYBE("split", API_OBJECT, "of a group of splits: which one", split),                          \
    MAYBE("replicas", API_INT, "ranks it has"),                                                    \
    MAYBE("image", API_TEXT, "container image"),                                                   \
    MAYBE("image_digest", API_TEXT, "digest of the image that ran"),                               \
    MAYBE("cpus", API_NUMBER, "CPUs of each node"),                                                \
    MAYBE("memory_bytes", API_INT, "memory of each node"),                                         \
    MAYBE("time_limit_ms", API_INT, "time limit"),                                                 \
    MAYBE("workdir", API_TEXT, "working folder of the command"),                                   \
    MAYBE("file", API_TEXT, "job file"),                                                           \
    MAYBE("host", API_TEXT, "from which machine"),                                                 \
    MAYBE("folder", API_TEXT, "from which folder"),                                                \
    MAYBE("git", API_OBJECT, "commit, branch, and whether something was not committed (dirty)"),   \
    ALWAYS("attempts", API_LIST, "every attempt, oldest first", attempts),                         \
    MAYBE("gpu_hours", API_NUMBER, "GPU hours of all attempts")

static const struct api_field job_row[] = { JOB_ROW, END };
const struct api_field api_shape_job[] = { JOB_ROW, JOB_WHOLE, END };
static const struct api_field status_one[] = { VERSION, JOB_ROW, JOB_WHOLE, UNREACHABLE, END };
static const struct api_field status_many[] = {
    VERSION, ALWAYS("jobs", API_LIST, "one object for each", api_shape_job),
    UNREACHABLE, END
};
static const struct api_field ps[] = {
    VERSION, ALWAYS("jobs", API_LIST, "newest first", job_row),
    ALWAYS("total", API_INT, "how many match"), ALWAYS("all", API_INT, "how many there are in the store"),
    UNREACHABLE, END
};
static const struct api_field watch[] = { VERSION, JOB_ROW, END };

/* ---- about jobs ----------------------------------------------------------------------------------- */

static const struct api_field retry[] = {
    ALWAYS("again", API_BOOL, "whether it is retried automatically"),
    MAYBE("why", API_TEXT, "why, or why not"),
    MAYBE("at", API_TIME, "when"),
    END
};

#define WHY                                                                                        \
    ALWAYS("id", API_TEXT, "id of the job"),                                                       \
    ALWAYS("status", API_TEXT, "as in status"),                                                    \
    ALWAYS("headline", API_TEXT, "the answer in one line"),                                        \
    MAYBE("waits", API_TEXT, "what it is waiting for"),                                            \
    MAYBE("err_class", API_TEXT, "whose failure: ERR_PROGRAM or ERR_INFRA"),                       \
    MAYBE("cause", API_TEXT, "user, node, gpu, network, ..., unknown"),                            \
    MAYBE("suggestion", API_TEXT, "what to do"),                                                   \
    ALWAYS("evidence", API_TEXTS, "what shows it, one line each"),                                \
    MAYBE("retry", API_OBJECT, "what becomes of the failure", retry),                              \
    ALWAYS("attempt", API_INT, "number of the newest attempt"),                                    \
    MAYBE("failed_replica", API_INT, "rank that failed first")

static const struct api_field why_row[] = { WHY, END };
static const struct api_field why_one[] = { VERSION, WHY, END };
static const struct api_field why_many[] = {
    VERSION, ALWAYS("jobs", API_LIST, "one object for each", why_row), END
};

/* What happened decides what it says; only names that are the same everywhere are listed. */
static const struct api_field event_data[] = {
    WHERE_MEANT("attempt", API_INT, "number of the attempt", NULL, "number"),
    WHERE_MEANT("status", API_TEXT, "new status", NULL, "state"),
    WHERE_MEANT("backend_job_id", API_TEXT, "its name on the platform", NULL, "remote_id"),
    WHERE_MEANT("next_attempt_at", API_TIME, "when it is retried", NULL, "not_before_ms"),
    WHERE_MEANT("since", API_TIME, "since when", NULL, "since_ms"),
    END
};

#define EVENT                                                                                      \
    ALWAYS("seq", API_INT, "number of the event, growing"),                                        \
    ALWAYS("at", API_TIME, "when it happened", NULL, "at_ms"),                                     \
    ALWAYS("job", API_TEXT, "id of the job"),                                                      \
    ALWAYS("kind", API_TEXT, "submitting, submitted, state, attempt, canceling, ..."),             \
    MAYBE("data", API_OBJECT, "what else there is to say, by kind", event_data)

static const struct api_field event_row[] = { EVENT, END };
static const struct api_field event_line[] = { VERSION, EVENT, END };
static const struct api_field event_list[] = {
    VERSION, ALWAYS("events", API_LIST, "oldest first", event_row), END
};

static const struct api_field log_line[] = {
    VERSION, ALWAYS("job", API_TEXT, "id of the job"), ALWAYS("rank", API_INT, "which rank wrote it"),
    MAYBE("at", API_TIME, "when it was written"),
    ALWAYS("line", API_TEXT, "the line without its end; bytes that are not UTF-8 become U+FFFD"), END
};

static const struct api_field replica[] = {
    ALWAYS("rank", API_INT, "its number, from 0"),
    MAYBE("node", API_TEXT, "where it runs"),
    ALWAYS("status", API_TEXT, "as in status"),
    MAYBE("reason", API_TEXT, "one word for programs"),
    MAYBE("message", API_TEXT, "for people"),
    MAYBE("exit_code", API_INT, "exit code of the program"),
    MAYBE("signal", API_POSITIVE, "signal that ended it"),
    MAYBE("pid", API_POSITIVE, "process id, on its machine"),
    MAYBE("gpus", API_TEXT, "GPUs it was given"),
    MAYBE("started_at", API_TIME, "when its command began", NULL, "started_ms"),
    MAYBE("ended_at", API_TIME, "when it ended", NULL, "ended_ms"),
    MAYBE("peak_bytes", API_POSITIVE, "most memory it used"),
    END
};

#define REPLICAS                                                                                   \
    ALWAYS("id", API_TEXT, "id of the job"),                                                       \
    ALWAYS("replicas", API_LIST, "by rank; a platform may add fields of its own", replica)

static const struct api_field replicas_row[] = { REPLICAS, END };
static const struct api_field replicas_one[] = { VERSION, REPLICAS, END };
static const struct api_field replicas_many[] = {
    VERSION, ALWAYS("jobs", API_LIST, "one object for each", replicas_row), END
};

static const struct api_field difference[] = {
    ALWAYS("key", API_TEXT, "key of the job file, or commit, branch, image digest, uncommitted changes"),
    ALWAYS("first", API_ANY, "value of the first job; null: none"),
    ALWAYS("second", API_ANY, "value of the second job; null: none"),
    MAYBE("first_source", API_TEXT, "where the first came from"),
    MAYBE("second_source", API_TEXT, "where the second came from"),
    END
};
static const struct api_field diff[] = {
    VERSION, ALWAYS("first", API_TEXT, "id of the first job"),
    ALWAYS("second", API_TEXT, "id of the second job"),
    ALWAYS("differences", API_LIST, "everything in which they differ", difference), END
};
static const struct api_field diff_one[] = {
    VERSION, ALWAYS("job", API_TEXT, "id of the job"),
    ALWAYS("changes", API_TEXT, "what was not committed, as git diff writes it; \"\": nothing"), END
};

static const struct api_field adoptable[] = {
    ALWAYS("id", API_TEXT, "id of the job"), ALWAYS("name", API_TEXT, "name of the job"),
    ALWAYS("platform", API_TEXT, "where it is"), MAYBE("status", API_TEXT, "as in status", NULL, "state"),
    MAYBE("owner", API_TEXT, "who submitted it"),
    MAYBE("created_at", API_TIME, "when it was submitted", NULL, "created_ms"), END
};
static const struct api_field adopt[] = {
    VERSION, ALWAYS("jobs", API_LIST, "jobs that this store does not know", adoptable), END
};

static const struct api_field result[] = {
    ALWAYS("id", API_TEXT, "id of the job"), MAYBE("split_id", API_INT, "of a split: its number"),
    ALWAYS("status", API_TEXT, "as in status"), MAYBE("results", API_TEXT, "folder, or HOST:PATH"),
    MAYBE("outputs", API_LIST, "outputs that go somewhere", outputs), END
};
static const struct api_field results[] = {
    VERSION, MAYBE("group", API_TEXT, "id of the group of splits"),
    ALWAYS("complete", API_BOOL, "whether all of them are there and ended well"),
    ALWAYS("jobs", API_LIST, "in the order of their numbers", result), END
};

/* ---- a job to be ---------------------------------------------------------------------------------- */

static const struct api_field skipped[] = {
    ALWAYS("platform", API_TEXT, "platform that was not taken"), ALWAYS("why", API_TEXT, "why"), END
};
static const struct api_field value[] = {
    ALWAYS("key", API_TEXT, "key of the job file"), ALWAYS("value", API_ANY, "its value"),
    ALWAYS("source", API_TEXT, "flag, file:line:column, profile, variable or default"), END
};
static const struct api_field setting[] = {
    ALWAYS("name", API_TEXT, "variable or setting"), MAYBE("from", API_TEXT, "where it is read"),
    MAYBE("how", API_TEXT, "how the job gets it"), END
};
static const struct api_field send[] = {
    ALWAYS("what", API_TEXT, "what would be sent"), MAYBE("text", API_TEXT, "its text"), END
};
static const struct api_field plan[] = {
    VERSION, ALWAYS("id", API_TEXT, "id the job would have"),
    MAYBE("group", API_TEXT, "of splits: id of the group"), MAYBE("splits", API_INT, "how many splits"),
    ALWAYS("platform", API_TEXT, "where it would run"),
    ALWAYS("platforms", API_TEXTS, "all that the job names, in their order"),
    ALWAYS("skipped", API_LIST, "those before it", skipped),
    MAYBE("place", API_TEXT, "which engine or cluster"),
    ALWAYS("values", API_LIST, "every value and its source", value),
    ALWAYS("settings", API_LIST, "settings of this machine that its data needs", setting),
    ALWAYS("plan", API_OBJECT, "the plan, as the store keeps it"),
    ALWAYS("sends", API_LIST, "exactly what would be sent", send),
    ALWAYS("warnings", API_TEXTS, "what deserves a second look"), END
};
static const struct api_field entrypoint[] = {
    VERSION, ALWAYS("id", API_TEXT, "id the job would have"), ALWAYS("steps", API_TEXT, "steps, for people"),
    ALWAYS("payload", API_OBJECT, "what the runner is given"), MAYBE("code", API_TEXT, "what code travels"),
    MAYBE("script", API_TEXT, "with --script: the script"), END
};
static const struct api_field check_row[] = {
    ALWAYS("check", API_TEXT, "what was checked"),
    ALWAYS("state", API_TEXT, "ok, failed, not set up or not checked"),
    MAYBE("ok", API_BOOL, "the same as true and false; null for the last two, which are no failure"),
    MAYBE("message", API_TEXT, "what was found"), MAYBE("fix", API_TEXT, "what to do"), END
};
#define CHECKS                                                                                     \
    ALWAYS("ok", API_BOOL, "false: a check failed"), ALWAYS("checks", API_LIST, "every check", check_row)
static const struct api_field preflight[] = {
    VERSION, ALWAYS("platform", API_TEXT, "where the job would run"), CHECKS, END
};
static const struct api_field doctor[] = { VERSION, CHECKS, END };

/* ---- data ----------------------------------------------------------------------------------------- */

static const struct api_field would[] = {
    ALWAYS("what", API_TEXT, "copy, remove or fail"), ALWAYS("name", API_TEXT, "relative name"),
    ALWAYS("size", API_INT, "bytes"), END
};
#define COPY                                                                                       \
    MAYBE("from", API_TEXT, "where from"), ALWAYS("to", API_TEXT, "where to"),                     \
    ALWAYS("files", API_INT, "files copied"), ALWAYS("bytes", API_INT, "bytes copied"),            \
    MAYBE("same", API_INT, "files that were identical already"),                                   \
    MAYBE("removed", API_INT, "files removed"), MAYBE("failed", API_INT, "files that failed"),     \
    MAYBE("elapsed_ms", API_INT, "how long it took"),                                              \
    MAYBE("left_out", API_INT, "links, pipes, ... left out"),                                      \
    MAYBE("left_out_names", API_TEXTS, "the first hundred of them, with the reason"),              \
    MAYBE("would", API_LIST, "with --dry-run: what would happen", would)
static const struct api_field copy_row[] = { COPY, END };
static const struct api_field cp[] = { VERSION, COPY, END };
static const struct api_field cp_many[] = {
    VERSION, ALWAYS("copies", API_LIST, "one object for each", copy_row), END
};
static const struct api_field object[] = {
    ALWAYS("name", API_TEXT, "name, relative to uri"), MAYBE("kind", API_TEXT, "file or folder"),
    MAYBE("size", API_INT, "bytes"), MAYBE("modified", API_TIME, "when it was last changed"),
    MAYBE("etag", API_TEXT, "tag of its content"), END
};
static const struct api_field ls[] = {
    VERSION, ALWAYS("uri", API_TEXT, "what was listed"),
    ALWAYS("objects", API_LIST, "what is there", object), END
};
static const struct api_field error[] = {
    ALWAYS("code", API_TEXT, "SpecError, NotFoundError, ..."),
    ALWAYS("exit_status", API_INT, "exit status that belongs to it"),
    ALWAYS("message", API_TEXT, "what failed and why"), MAYBE("hint", API_TEXT, "what to do next"), END
};
/* Of commands that act on jobs: what came of each. */
#define OUTCOME \
    ALWAYS("id", API_TEXT, "id of the job"),                                                       \
    MAYBE("status", API_TEXT, "its state now"),                                                    \
    MAYBE("attempt", API_INT, "number of the newest attempt"),                                     \
    MAYBE("exit_code", API_INT, "exit code of the program"),                                       \
    MAYBE("signal", API_POSITIVE, "signal that ended it"),                                         \
    MAYBE("duration_ms", API_INT, "how long it ran"),                                              \
    ALWAYS("already", API_BOOL, "of run: it was there before, and nothing was sent"),              \
    MAYBE("error", API_OBJECT, "why it failed", error)
static const struct api_field outcome[] = { OUTCOME, END };
static const struct api_field removal[] = {
    OUTCOME, MAYBE("results_place", API_TEXT, "with --keep-results: where its results stay"), END
};
static const struct api_field removals[] = {
    VERSION, ALWAYS("ok", API_BOOL, "whether it was done for every job"),
    ALWAYS("jobs", API_LIST, "each job", removal), END
};
static const struct api_field outcomes[] = {
    VERSION, ALWAYS("ok", API_BOOL, "whether it was done for every job"),
    ALWAYS("jobs", API_LIST, "each job", outcome), END
};
static const struct api_field got[] = {
    ALWAYS("id", API_TEXT, "id of the job"), MAYBE("to", API_TEXT, "folder that has its results now"),
    ALWAYS("files", API_INT, "files copied"), ALWAYS("bytes", API_INT, "bytes copied"),
    ALWAYS("same", API_INT, "files that were here already"),
    MAYBE("error", API_OBJECT, "why it failed", error), END
};
static const struct api_field get[] = {
    VERSION, ALWAYS("ok", API_BOOL, "whether it was done for every job"),
    ALWAYS("jobs", API_LIST, "each job", got), END
};

#define URI                                                                                        \
    ALWAYS("uri", API_TEXT, "what was checked"),                                                   \
    MAYBE("exists", API_BOOL, "null: this could not be found out"),                                \
    MAYBE("kind", API_TEXT, "file, folder, path or none"), MAYBE("size", API_INT, "bytes"),        \
    MAYBE("etag", API_TEXT, "tag of its content"),                                                 \
    MAYBE("error", API_OBJECT, "why it does not exist or could not be checked", error)
static const struct api_field uri[] = { URI, END };
static const struct api_field uri_one[] = { VERSION, URI, END };
static const struct api_field check[] = {
    VERSION, ALWAYS("ok", API_BOOL, "whether all of them exist"),
    ALWAYS("uris", API_LIST, "in the order given", uri), END
};

/* ---- places --------------------------------------------------------------------------------------- */

static const struct api_field option[] = {
    ALWAYS("name", API_TEXT, "name"), ALWAYS("type", API_TEXT, "type, in words"),
    MAYBE("default", API_TEXT, "default"), MAYBE("env", API_TEXT, "variable that sets it"),
    ALWAYS("help", API_TEXT, "what it does"), MAYBE("choices", API_TEXTS, "what it may be"),
    MAYBE("fields", API_LIST, "of a mapping: its options, like this one"), END
};
static const struct api_field credential[] = {
    ALWAYS("name", API_TEXT, "variable"), ALWAYS("required", API_BOOL, "whether the platform needs it"),
    ALWAYS("present", API_BOOL, "whether it is set; its value is never shown"),
    ALWAYS("help", API_TEXT, "what it is"), END
};
static const struct api_field variable[] = {
    ALWAYS("name", API_TEXT, "variable"), ALWAYS("set", API_BOOL,
                                                 "whether it is set; its value is never shown"),
    END
};
static const struct api_field platform[] = {
    ALWAYS("name", API_TEXT, "name"), MAYBE("alias", API_TEXT, "another name"),
    ALWAYS("summary", API_TEXT, "one line"), ALWAYS("options", API_LIST, "options", option),
    ALWAYS("credentials", API_LIST, "credentials", credential),
    ALWAYS("variables", API_LIST, "variables that decide something there", variable),
    MAYBE("ready", API_OBJECT, "whether it answers; null without a session", check_row), END
};
static const struct api_field platforms[] = {
    VERSION, ALWAYS("platforms", API_LIST, "in the order of preference", platform), END
};
static const struct api_field model[] = {
    ALWAYS("name", API_TEXT, "folder of the model"), MAYBE("network_arch", API_TEXT, "its architecture"),
    ALWAYS("actions", API_TEXTS, "what it can do"),
    ALWAYS("automl", API_BOOL, "whether AutoML can search its training"),
    MAYBE("reason", API_TEXT, "why it cannot"), MAYBE("problem", API_TEXT, "why the model cannot be read"),
    END
};
static const struct api_field models[] = {
    VERSION, ALWAYS("bank", API_TEXT, "folder of the skill bank"),
    ALWAYS("models", API_LIST, "by name", model), END
};
static const struct api_field image[] = {
    VERSION, ALWAYS("model", API_TEXT, "folder of the model"), ALWAYS("network_arch", API_TEXT,
                                                                      "its architecture"),
    ALWAYS("action", API_TEXT, "action"), ALWAYS("image", API_TEXT, "image that it runs in"),
    ALWAYS("from", API_TEXT, "where the image is named"), ALWAYS("command", API_TEXT, "its command"),
    ALWAYS("file", API_TEXT, "what describes the model"), END
};
static const struct api_field inventory[] = {
    VERSION, ALWAYS("platform", API_TEXT, "which platform"),
    ALWAYS("inventory", API_OBJECT, "what it has and what is free, in its own words"), END
};
static const struct api_field leftover[] = {
    MAYBE("platform", API_TEXT, "where; null: this machine"),
    ALWAYS("what", API_TEXT, "container, folder, ..."),
    ALWAYS("where", API_TEXT, "its name or path"), MAYBE("job", API_TEXT, "id of the job that left it"),
    MAYBE("owner", API_TEXT, "whose it is; null: this store's"), MAYBE("kept", API_TEXT, "why it stays"),
    ALWAYS("removed", API_BOOL, "whether it was removed"), END
};
static const struct api_field gc[] = {
    VERSION, ALWAYS("leftovers", API_LIST, "what belongs to no job of this store", leftover), END
};

/* ---- this machine --------------------------------------------------------------------------------- */

static const struct api_field trusted[] = {
    ALWAYS("path", API_TEXT, "file"), ALWAYS("sha256", API_TEXT, "hash of what was trusted"),
    ALWAYS("at", API_TIME, "when it was trusted", NULL, "at_ms"),
    ALWAYS("trusted", API_BOOL, "false: it is gone or has another content by now"), END
};
static const struct api_field trust[] = {
    VERSION, ALWAYS("files", API_LIST, "files of folders that are trusted", trusted), END
};
static const struct api_field hello[] = {
    ALWAYS("release", API_TEXT, "release of slipway that it is", NULL, "version"),
    ALWAYS("pid", API_INT, "process id"),
    MAYBE("started_at", API_TIME, "when it began", NULL, "started_ms"),
    ALWAYS("state_dir", API_TEXT, "its state folder"), ALWAYS("jobs", API_INT, "jobs it watches"),
    ALWAYS("notices", API_INT, "hooks and notifications that are due"),
    MAYBE("looked_at", API_TIME, "when it last asked the platforms", NULL, "looked_ms"),
    ALWAYS("interval_ms", API_INT, "how often it asks"), UNREACHABLE, END
};
static const struct api_field watcher[] = {
    VERSION, ALWAYS("running", API_BOOL, "whether one runs"),
    ALWAYS("off", API_BOOL, "whether the environment keeps it from starting"),
    ALWAYS("jobs", API_INT, "jobs that need it"), ALWAYS("places", API_MAP, "how many at each place"),
    ALWAYS("notices", API_INT, "hooks and notifications that are due"),
    ALWAYS("duties", API_TEXTS, "what it is needed for"),
    MAYBE("missed", API_TEXT, "what does not happen without it"),
    MAYBE("problem", API_TEXT, "why it does not start or answer"), ALWAYS("log", API_TEXT, "its log file"),
    MAYBE("watcher", API_OBJECT, "the one that runs", hello), END
};
static const struct api_field report[] = {
    VERSION, ALWAYS("path", API_TEXT, "the file that was written"), END
};
static const struct api_field release[] = {
    VERSION, ALWAYS("release", API_TEXT, "release of slipway, as 0.1.0"), END
};
static const struct api_field use[] = { VERSION, ALWAYS("job", API_TEXT, "id of the job"), USE, END };
static const struct api_field ray_cluster[] = {
    VERSION, ALWAYS("job", API_TEXT, "id of the job"),
    ALWAYS("dashboard_port", API_INT, "port of the dashboard and of the Jobs API, on the head"), END
};
#define USED                                                                                       \
    ALWAYS("jobs", API_INT, "jobs"), ALWAYS("retries", API_INT, "attempts beyond the first"),      \
    ALWAYS("running_ms", API_INT, "time they ran"), ALWAYS("waiting_ms", API_INT, "time they waited"), \
    ALWAYS("gpu_hours", API_NUMBER, "GPUs times hours they ran"),                                  \
    MAYBE("gpu_idle_share", API_NUMBER, "share of them without work, from 0 to 1, where it is known"), \
    MAYBE("cost", API_NUMBER, "of those that have a price"),                                       \
    ALWAYS("unpriced_gpu_hours", API_NUMBER, "GPU hours without a price")
static const struct api_field used_by[] = {
    MAYBE("group", API_TEXT, "platform, user, day or value of the label; null: none"), USED, END
};
static const struct api_field used_in_all[] = { USED, END };
static const struct api_field usage[] = {
    VERSION, MAYBE("by", API_TEXT, "what the rows are grouped by"),
    MAYBE("label", API_TEXT, "key of the label"),
    MAYBE("since_at", API_TIME, "what was used since then"), ALWAYS("until_at", API_TIME, "and until then"),
    ALWAYS("rows", API_LIST, "each group", used_by), ALWAYS("total", API_OBJECT, "all of them", used_in_all),
    UNREACHABLE, END
};
static const struct api_field failure[] = {
    VERSION, ALWAYS("error", API_OBJECT, "what went wrong", error), END
};

const struct api_shape api_shapes[] = {
    { "adopt", "With --list: jobs to import.", false, adopt },
    { "cancel", "What came of each job.", false, outcomes },
    { "check", "Whether data exists.", false, check, "From sw_check_uri() of the library.", uri_one },
    { "cp", "What was copied.", false, cp, "With more than one FROM.", cp_many },
    { "diff", "What differs between two jobs.", false, diff, "With one JOB.", diff_one },
    { "doctor", "Checks of this installation.", false, doctor },
    { "entrypoint", "What a job runs in its container.", false, entrypoint },
    { "error", "On stderr, when a command with -o json fails.", false, failure },
    { "events", "One event per line.", true, event_line, "From sw_events() of the library.", event_list },
    { "gc", "Leftovers.", false, gc },
    { "get", "What was copied of each job.", false, get },
    { "image", "The image of a model's action.", false, image },
    { "inventory", "What a platform has.", false, inventory },
    { "logs", "One line of the log per line.", true, log_line },
    { "ls", "What is at a path or URI.", false, ls },
    { "models", "Models of a skill bank.", false, models },
    { "plan", "What run would do.", false, plan },
    { "platforms", "Where jobs can run.", false, platforms },
    { "preflight", "Whether a job could run.", false, preflight },
    { "ps", "A list of jobs.", false, ps },
    { "ray", "With status: the jobs that are Ray clusters.", false, ps },
    { "ray_cluster", "The Ray cluster of a running job: from sw_ray_cluster() of the library.", false,
      ray_cluster },
    { "replicas", "The parts of a job.", false, replicas_one, "When several jobs are meant.", replicas_many },
    { "report", "Where the report was written.", false, report },
    { "rerun", "With -d: what was submitted.", false, outcomes },
    { "results", "Where results are.", false, results },
    { "retry", "What came of each job.", false, outcomes },
    { "rm", "What came of each job.", false, removals },
    { "run", "With -d: what was submitted.", false, outcomes },
    { "status", "Everything known about a job.", false, status_one,
      "When several jobs are meant.", status_many },
    { "trust", "With --list: files that are trusted.", false, trust },
    { "usage", "What jobs used.", false, usage },
    { "use", "What a running job uses: from sw_use() of the library, `live` of a status.", false, use },
    { "version", "The release of the program.", false, release },
    { "wait", "How each job ended.", false, outcomes },
    { "watch", "One job per line, for each change.", true, watch },
    { "watcher", "The process that watches detached jobs.", false, watcher },
    { "why", "Why a job failed or is waiting.", false, why_one, "When several jobs are meant.", why_many },
    { 0 }
};
