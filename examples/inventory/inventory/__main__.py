from . import tool

tool.main()
