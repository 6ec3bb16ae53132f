"""The commands: one module each, which declares its words and imports what it needs when it is called.

To add one, write a module with a function ``declare`` that enters the command with argparse and names the function to
call, and enter it in ``COMMANDS`` of `assay.__main__`. That function gets what was given and returns an exit code: 0 is
done, 1 failed or done in part, 2 misused; what was given wrongly is raised and becomes one line and a 2. A command
whose 1 says something else has the default ``failure``, the code of a failure.
"""
