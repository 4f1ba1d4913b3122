"""Programs in processes of their own that have imported the libraries already.

A new interpreter for each would import them for two seconds. This module itself imports little, as
each process imports it.
"""

import multiprocessing


def start(program):
    """Start a program; return its process, and the end of a pipe at which it is heard.

    In the program, `tell` sends an object. The process is forked from one that has imported what
    programs need, and which Windows does not have.
    """
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(["numpy", "scipy.sparse", "spinney.model_selection"])
    heard, told = context.Pipe(duplex=False)
    process = context.Process(target=_run, args=(program, told), daemon=True)
    process.start()
    # The process has its own: at its end the pipe ends, too.
    told.close()
    return process, heard


def _run(program, pipe):
    exec(program, {"__name__": "program", "tell": pipe.send})
