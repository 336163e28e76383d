"""The script for zsh: one function for each command, with descriptions."""

from __future__ import annotations

from pilotage.kit.console.shells.commands import Command, Option, Values

_ACTIONS = {
    Values.TEXT: " ",
    Values.FILE: "_files",
    Values.FOLDER: "_files -/",
    Values.PROGRAM: "_files -g '*.py'",
    Values.OBJECT: "_{function}_objects",
}
_OBJECTS = """\
_{function}_line() {{
    local -a typed=("${{(@)words[2,CURRENT]}}")
    _{function}
}}
_{function}_objects() {{
    local -a found=(${{(f)"$({program} completion objects -- "${{(@)typed}}" 2>/dev/null)"}})
    local -a parts=(${{(M)found:#*[.=]}})
    compadd -S '' -a parts  # what ends with a dot or a sign is a part of a path
    found=(${{found:#*[.=]}})
    compadd -a found
}}
"""


def script(root: Command) -> str:
    """The completion script for zsh."""
    program = root.program
    heading = (
        f'#compdef {program}\n# Completion of {program} for zsh. Load it with: eval "$({program} completion zsh)"\n'
    )
    functions = _OBJECTS.format(function=root.function, program=program)
    functions += "".join(_function(command) for command in root.all())
    return f"{heading}{functions}compdef {_name(root)}_line {program}\n"


def _function(command: Command) -> str:
    specifications = [_specification(option, command.function) for option in command.options]
    if not command.subcommands:
        if command.choices:
            specifications.append(_quoted(f"1: :({' '.join(command.choices)})"))
        elif command.arguments is not Values.TEXT:
            specifications.append(_quoted(f"*: :{_ACTIONS[command.arguments].format(function=command.function)}"))
        return f"{_name(command)}() {{\n    _arguments -S {_joined(specifications)}\n}}\n"
    commands = "\n".join(f"                {_quoted(f'{each.words[-1]}:{each.help}')}" for each in command.subcommands)
    cases = "\n".join(f"                {each.words[-1]}) {_name(each)} ;;" for each in command.subcommands)
    return (
        f"{_name(command)}() {{\n"
        "    local curcontext=$curcontext state line\n"
        "    typeset -A opt_args\n"
        f"    _arguments -C -S {_joined([*specifications, _quoted('1: :->command'), _quoted('*:: :->arguments')])}\n"
        "    case $state in\n"
        "        command)\n"
        f"            local -a commands=(\n{commands}\n            )\n"
        "            _describe command commands ;;\n"
        "        arguments)\n"
        f"            case $line[1] in\n{cases}\n            esac ;;\n"
        "    esac\n"
        "}\n"
    )


def _name(command: Command) -> str:
    return f"_{'_'.join([command.function, *command.words[1:]])}"


def _specification(option: Option, function: str) -> str:
    excluded = f"({' '.join(option.flags)})" if len(option.flags) > 1 else ""
    described = "".join(f"\\{character}" if character in "[]:\\" else character for character in option.help)
    value = ""
    if option.values is not None:
        action = (
            f"({' '.join(option.choices)})" if option.choices else _ACTIONS[option.values].format(function=function)
        )
        value = f": :{action}"
    return " ".join(
        _quoted(f"{excluded}{flag}{_joint(flag) if value else ''}[{described}]{value}") for flag in option.flags
    )


def _joint(flag: str) -> str:
    """The mark that allows the value in the next word or in the same one: `--storage=URL`, `-nNAME`."""
    return "=" if flag.startswith("--") else "+"


def _quoted(text: str) -> str:
    return "'" + text.replace("'", "'\\''") + "'"


def _joined(specifications: list[str]) -> str:
    return " \\\n        ".join(specifications)
