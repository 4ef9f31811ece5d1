/* SPDX-License-Identifier: Apache-2.0 */
/*
 * completion.c - `slipway completion bash|zsh|fish`: the script that a shell reads.
 *
 * The scripts hold no word of ours: they ask `slipway __complete` (complete.c), which reads the
 * command tables. So they are short, and need not be made again when a verb is added.
 */
#include <string.h>

#include "cli/cli.h"

/* bash breaks words at '=', so they are put together again, and the part before the '=' is
 * taken off the answers. */
static const char bash_script[] =
    "# bash completion for slipway; read it with: source <(slipway completion bash)\n"
    "_slipway() {\n"
    "    local line rest current='' also=none i\n"
    "    local -a words=()\n"
    "    for ((i = 1; i <= COMP_CWORD; i++)); do\n"
    "        if [[ ${COMP_WORDS[i]} == '=' && ${#words[@]} -gt 0 ]]; then\n"
    "            words[-1]+='='\n"
    "        elif [[ ${#words[@]} -gt 0 && ${words[-1]} == --*= ]]; then\n"
    "            words[-1]+=${COMP_WORDS[i]}\n"
    "        else\n"
    "            words+=(\"${COMP_WORDS[i]}\")\n"
    "        fi\n"
    "    done\n"
    "    ((${#words[@]})) && current=${words[-1]}\n"
    "    COMPREPLY=()\n"
    "    while IFS= read -r line; do\n"
    "        case $line in\n"
    "        :*) also=${line#:} ;;\n"
    "        *) line=${line%%$'\\t'*}\n"
    "           [[ $current == --*=* ]] && line=${line#*=}\n"
    "           COMPREPLY+=(\"$line\") ;;\n"
    "        esac\n"
    "    done < <(\"${COMP_WORDS[0]}\" __complete \"${words[@]}\" 2> /dev/null)\n"
    "    rest=$current\n"
    "    [[ $current == --*=* ]] && rest=${current#*=}\n"
    "    case $also in\n"
    "    files) compopt -o filenames 2> /dev/null\n"
    "           while IFS= read -r line; do COMPREPLY+=(\"$line\"); done < <(compgen -f -- \"$rest\") ;;\n"
    "    folders) compopt -o filenames 2> /dev/null\n"
    "           while IFS= read -r line; do COMPREPLY+=(\"$line\"); done < <(compgen -d -- \"$rest\") ;;\n"
    "    commands)\n"
    "           while IFS= read -r line; do COMPREPLY+=(\"$line\"); done < <(compgen -c -f -- \"$rest\") ;;\n"
    "    esac\n"
    "}\n"
    "complete -F _slipway slipway\n";

static const char zsh_script[] =
    "#compdef slipway\n"
    "# zsh completion for slipway; put it into a folder of $fpath as _slipway, or read it with:\n"
    "# source <(slipway completion zsh)\n"
    "_slipway() {\n"
    "    local line also=none\n"
    "    local -a values shown\n"
    "    while IFS= read -r line; do\n"
    "        case $line in\n"
    "        :*) also=${line#:} ;;\n"
    "        *) values+=(\"${line%%$'\\t'*}\")\n"
    "           if [[ -n ${line#*$'\\t'} ]]; then\n"
    "               shown+=(\"${line%%$'\\t'*}  -- ${line#*$'\\t'}\")\n"
    "           else\n"
    "               shown+=(\"${line%%$'\\t'*}\")\n"
    "           fi ;;\n"
    "        esac\n"
    "    done < <(\"${(Q)words[1]}\" __complete \"${(@Q)words[2,CURRENT]}\" 2> /dev/null)\n"
    "    (( ${#values} )) && compadd -l -d shown -a values\n"
    "    case $also in\n"
    "    files) _files ;;\n"
    "    folders) _files -/ ;;\n"
    "    commands) _command_names -e || _files ;;\n"
    "    esac\n"
    "    return 0\n"
    "}\n"
    "if [[ $funcstack[1] == _slipway ]]; then\n"
    "    _slipway \"$@\"\n"
    "else\n"
    "    compdef _slipway slipway\n"
    "fi\n";

static const char fish_script[] =
    "# fish completion for slipway; read it with: slipway completion fish | source\n"
    "function __slipway_complete\n"
    "    set -l words (commandline -opc) (commandline -ct)\n"
    "    set -l answer ($words[1] __complete $words[2..-1] 2> /dev/null)\n"
    "    set -l word (commandline -ct)\n"
    "    for line in $answer\n"
    "        switch $line\n"
    "            case ':files' ':folders' ':commands'\n"
    "                __fish_complete_path $word\n"
    "            case ':*'\n"
    "            case '*'\n"
    "                echo $line\n"
    "        end\n"
    "    end\n"
    "end\n"
    "complete -c slipway -f -a '(__slipway_complete)'\n";

static const struct {
    const char *shell, *script;
} scripts[] = {
    { "bash", bash_script }, { "zsh", zsh_script }, { "fish", fish_script },
};

static int completion_run(struct cli *cli, const struct cli_args *args, struct sw_error *err)
{
    (void)cli;
    for (size_t i = 0; i < SW_COUNT(scripts); i++)
        if (strcmp(scripts[i].shell, args->words[0]) == 0) {
            cli_print(scripts[i].script);
            return 0;
        }
    sw_fail(err, SW_E_USAGE, "no completion for '%s'", args->words[0]);
    return sw_hint(err, "supported shells: bash, zsh and fish");
}

const struct command command_completion = {
    .name = "completion",
    .args = "bash|zsh|fish",
    .summary = "print the completion script for your shell",
    .description =
        "Print a script for your shell that completes verbs, flags, their values, and the ids and "
        "names of your jobs. Jobs come from the local store, without any network. An installed "
        "package has the scripts in place already.",
    .example = "source <(slipway completion bash)\n"
               "slipway completion zsh > ~/.zfunc/_slipway\n"
               "slipway completion fish > ~/.config/fish/completions/slipway.fish",
    .min_args = 1,
    .max_args = 1,
    .without_defaults = true,
    .run = completion_run,
};
