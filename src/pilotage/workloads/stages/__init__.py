"""Stages: how the objects of a kind live without the programs that run them. No I/O: documents in, actions out.

| module | contents |
|---|---|
| `stage` | the interface of a stage, and the actions of one: values |
| `lifecycle` | the stages of all kinds, and which of them comes next for an object |
| `native` | a stage written in Python |
| `stagefiles`, `filestage` | kwok's Stage files, parsed; a stage of such a file |
| `moment` | what templates can ask: the time, the addresses of nodes and Pods |
| `selectors`, `amounts`, `actions` | the parts of a Stage file |
| `fields`, `celexpressions` | the fields of documents; the expressions in them |
| `jq`, `templates` | the languages of Stage files |
"""
