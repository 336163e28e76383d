"""The script for bash: one function, written out for each command."""

from __future__ import annotations

from collections.abc import Iterator

from pilotage.cli.completion.commands import Command, Option, Values

_SCRIPT = """\
# Completion of pilotage for bash. Load it with: eval "$(pilotage completion bash)"
_pilotage_files() {{
    local IFS=$'\\n'
    COMPREPLY+=($(compgen "$@" -- "$current"))
    compopt -o filenames 2>/dev/null
}}
_pilotage() {{
    local current="${{COMP_WORDS[COMP_CWORD]}}" previous="${{COMP_WORDS[COMP_CWORD - 1]}}" command=pilotage number
    for ((number = 1; number < COMP_CWORD; number++)); do
        case "$command ${{COMP_WORDS[number]}}" in
            {commands}) command+=" ${{COMP_WORDS[number]}}" ;;
        esac
    done
    COMPREPLY=()
    case "$command:$previous" in
{values}
    esac
    local options="" words="" files=""
    case "$command" in
{arguments}
    esac
    if [[ $current == -* ]]; then
        COMPREPLY=($(compgen -W "$options" -- "$current"))
        return
    fi
    COMPREPLY=($(compgen -W "$words" -- "$current"))
    case "$files" in
        folders) _pilotage_files -d ;;
        files) _pilotage_files -f ;;
        programs) _pilotage_files -f -X '!*.py'; _pilotage_files -d ;;
    esac
}}
complete -F _pilotage pilotage
"""
_FILES = {Values.FOLDER: "folders", Values.FILE: "files", Values.PROGRAM: "programs"}
_REPLIES = {Values.FOLDER: "_pilotage_files -d", Values.FILE: "_pilotage_files -f"}


def script(root: Command) -> str:
    """The completion script for bash."""
    return _SCRIPT.format(
        commands=" | ".join(f'"{command.name}"' for command in root.all() if command is not root),
        values="\n".join(line for command in root.all() for line in _values(command)),
        arguments="\n".join(_arguments(command) for command in root.all()),
    )


def _values(command: Command) -> Iterator[str]:
    """The cases of the options of a command that take a value."""
    for option in command.options:
        if option.values is not None:
            patterns = " | ".join(f'"{command.name}:{flag}"' for flag in option.flags)
            yield f"        {patterns}) {_reply(option)} return ;;"


def _reply(option: Option) -> str:
    if option.choices:
        return f'COMPREPLY=($(compgen -W "{" ".join(option.choices)}" -- "$current"));'
    reply = _REPLIES.get(option.values or Values.TEXT)
    return f"{reply};" if reply else ""


def _arguments(command: Command) -> str:
    options = " ".join(flag for option in command.options for flag in option.flags)
    words = " ".join([each.words[-1] for each in command.subcommands] or command.choices)
    files = _FILES.get(command.arguments, "")
    return f'        "{command.name}") options="{options}" words="{words}" files="{files}" ;;'
