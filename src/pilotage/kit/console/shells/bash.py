"""The script for bash: one function, written out for each command."""

from __future__ import annotations

from collections.abc import Iterator

from pilotage.kit.console.flags import storages
from pilotage.kit.console.shells.commands import Command, Option, Values

_SCRIPT = """\
# Completion of {program} for bash. Load it with: eval "$({program} completion bash)"
_{function}_files() {{
    local IFS=$'\\n'
    COMPREPLY+=($(compgen "$@" -- "$current"))
    compopt -o filenames 2>/dev/null
}}
_{function}_objects() {{
    local typed="${{COMP_LINE:0:COMP_POINT}}" words before word
    words=$({program} completion objects -- "${{COMP_WORDS[@]:1:COMP_CWORD}}" 2>/dev/null)
    before="${{typed##*[[:space:]]}}"  # bash divides app=web, and replaces what is behind the sign
    before="${{before%"$current"}}"
    before="${{before#--*=}}"
    COMPREPLY=()
    for word in $words; do
        word="${{word#"$before"}}"
        [[ $word == "$current"* ]] && COMPREPLY+=("$word")
    done
    [[ ${{#COMPREPLY[@]}} == 1 && $COMPREPLY == *[.=] ]] && compopt -o nospace  # a part of a path
}}
_{function}() {{
    local current="${{COMP_WORDS[COMP_CWORD]}}" previous="${{COMP_WORDS[COMP_CWORD - 1]}}" command={program} number
    for ((number = 1; number < COMP_CWORD; number++)); do
        case "${{COMP_WORDS[number]}}" in
            {places})
                [[ ${{COMP_WORDS[number + 1]}} == "=" ]] && ((number++))
                ((number++))
                continue ;;
        esac
        case "$command ${{COMP_WORDS[number]}}" in
            {commands}) command+=" ${{COMP_WORDS[number]}}" ;;
        esac
    done
    COMPREPLY=()
    if [[ $current == "=" ]]; then  # --output=
        current=""
    elif [[ $previous == "=" ]]; then  # --output=js
        previous="${{COMP_WORDS[COMP_CWORD - 2]}}"
    fi
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
        folders) _{function}_files -d ;;
        files) _{function}_files -f ;;
        programs) _{function}_files -f -X '!*.py'; _{function}_files -d ;;
        objects) _{function}_objects ;;
    esac
}}
complete -F _{function} {program}
"""
_FILES = {Values.FOLDER: "folders", Values.FILE: "files", Values.PROGRAM: "programs", Values.OBJECT: "objects"}
_REPLIES = {
    Values.FOLDER: "_{function}_files -d",
    Values.FILE: "_{function}_files -f",
    Values.OBJECT: "_{function}_objects",
}


def script(root: Command) -> str:
    """The completion script for bash."""
    return _SCRIPT.format(
        program=root.program,
        function=root.function,
        commands=" | ".join(f'"{command.name}"' for command in root.all() if command is not root),
        places=" | ".join(storages.FLAGS),
        values="\n".join(line for command in root.all() for line in _values(command, root.function)),
        arguments="\n".join(_arguments(command) for command in root.all()),
    )


def _values(command: Command, function: str) -> Iterator[str]:
    """The cases of the options of a command that take a value."""
    for option in command.options:
        if option.values is not None:
            patterns = " | ".join(f'"{command.name}:{flag}"' for flag in option.flags)
            yield f"        {patterns}) {_reply(option, function)} return ;;"


def _reply(option: Option, function: str) -> str:
    if option.choices:
        return f'COMPREPLY=($(compgen -W "{" ".join(option.choices)}" -- "$current"));'
    reply = _REPLIES.get(option.values or Values.TEXT)
    return f"{reply.format(function=function)};" if reply else ""


def _arguments(command: Command) -> str:
    options = " ".join(flag for option in command.options for flag in option.flags)
    words = " ".join([each.words[-1] for each in command.subcommands] or command.choices)
    files = _FILES.get(command.arguments, "")
    return f'        "{command.name}") options="{options}" words="{words}" files="{files}" ;;'
