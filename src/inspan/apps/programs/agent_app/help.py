"""The help texts of `agent-app`, for a person and exact enough for an agent."""

from __future__ import annotations

from collections.abc import Sequence

__all__ = ["help_for"]

_MAIN = """\
usage: agent-app APP VERB …
       agent-app list | skills | global

Builds apps, serves them, and manages those on this machine.

APP is a folder with a manifest.json, or a registered id or name; for scaffold, the folder to be made.

build
  scaffold   make a new app that runs as it is
  validate   is the app right, and does it build?
  dev        try a change beside the app, with records of its own
  promote    put the change that was tried and validated in the app's place

run
  serve      start the app, and return once it answers
  stop       end it
  open       show its page
  bridge     take its work to an agent: status, start, stop

keep
  backup     keep the app as it is now; backup list shows what is kept
  restore    put a backup back
  remove     delete the app with all its records
  forget     take it out of the index, and leave it where it is

all apps
  list       which there are, and which run
  skills     what an agent reads before it builds or operates apps
  global     your own conventions for all apps

`agent-app help VERB`, or `agent-app APP VERB --help`, says more. To operate a running app: a2app.

exit statuses
  0  done
  1  a rule or the surroundings said no; nothing half done is left
  2  the command line is wrong; a right one is said
  3  the app does not answer"""

_VERBS = {
    "scaffold": """\
usage: agent-app DIR scaffold [--blueprint NAME] [--name NAME] [--port PORT] [--force]

Makes an app in DIR with an id, a credential and a port of its own, and puts it into the index; or nothing at all.
Prints {"ok", "id", "dir", "port", "adapterVersion"}.

flags
  --blueprint NAME   what it is made from: python (the default)
  --name NAME        what people call it; the folder's name without it
  --port PORT        a port that it would like; another one where that is taken
  --force            DIR may hold files already: none of them is replaced""",
    "validate": """\
usage: agent-app APP validate [--no-build]

Checks the manifest, the operations and the framework's own files, and builds the app. Prints {"ok", "problems",
"warnings", "built", "promotable"}; the exit status is 1 where there is a problem. While a change is being tried
(`dev`), a run without problems makes it promotable.

flags
  --no-build         only look""",
    "serve": """\
usage: agent-app APP serve [--install] [--open]

Builds and starts the app, in the background, and returns once it answers. One that runs is left as it is. Prints
{"ok", "id", "name", "url", "pid", "port", "agentWork"}; its output goes to .a2app/serve.log.

flags
  --install          run the manifest's install step before
  --open             show its page afterwards""",
    "stop": """\
usage: agent-app APP stop [--dev]

Ends what `serve` started, and nothing else. Prints {"ok", "stopped": PID or null}.

flags
  --dev              end the change that is being tried instead, with its records""",
    "open": """\
usage: agent-app APP open [--print-only]

Shows the app's page, after the app answered there as itself. Prints {"ok", "url", "opened", "via"}; that nothing was
opened is no error. AGENT_APP_OPEN_CMD names a program that shows it: words, with the URL put last.

flags
  --print-only       only say where it is""",
    "bridge": """\
usage: agent-app APP bridge [status]
       agent-app APP bridge start [--harness ID] [--interval MS] [--task-timeout MS] [--capability NAME …]
                                  [--once] [--dry-run] [--foreground]
       agent-app APP bridge stop

Takes the app's work to an agent, by the deepest way in that its harness offers. Nothing starts a bridge unasked. A live
bridge, or a way in that can be used, is no proof that anything was delivered: the app's tasks say that.

flags of start
  --harness ID         which harness; else $A2APP_HARNESS, else the default of harnesses.json, else the first usable
  --interval MS        how long between two looks at the queue (5000)
  --task-timeout MS    how long one task may take (900000)
  --capability NAME    only such work; may be repeated
  --once               one look at the queue, here and now
  --dry-run            only show what the agent would be told; claims nothing
  --foreground         stay here instead of going into the background""",
    "backup": """\
usage: agent-app APP backup [--reason TEXT]
       agent-app APP backup list

Keeps the app's code and records as they are now, also while it runs. Credentials are left out.""",
    "restore": """\
usage: agent-app APP restore BACKUP

Puts a backup back, after it was checked and the present state was itself backed up. The app must not run.""",
    "dev": """\
usage: agent-app APP dev

Starts the app's code as it is now beside the app that is served, on another port and without its records. Until it is
promoted or stopped (`stop --dev`), a2app operates it instead of the app. Prints {"ok", "url", "pid", "port", "bootDir"}.""",
    "promote": """\
usage: agent-app APP promote

Puts the change that was tried (`dev`) and found right (`validate`) in the app's place, after a backup. It is refused
when the code was changed since.""",
    "remove": """\
usage: agent-app APP remove --yes

Stops the app and deletes its folder with every record and backup in it.""",
    "forget": """\
usage: agent-app APP forget

Takes the app out of the index and leaves it where it is.""",
    "list": """\
usage: agent-app list [--json] [--prune]

The apps on this machine. Each is running; stopped; unreachable, where something else holds its port; or missing, where
its folder is no app any more.

flags
  --json             {"apps": [{"id", "name", "path", "port", "status", "url", "pid"}]}
  --prune            forget the missing ones""",
    "skills": """\
usage: agent-app skills [--install DIR] [--path] [--json]

What an agent reads before it builds or operates apps.

flags
  --install DIR      copy all of them into DIR
  --path             say where they are""",
    "global": """\
usage: agent-app global [--path]

Your own conventions for all apps, from GLOBAL_AGENT_APP.md.""",
}


def help_for(verbs: Sequence[str]) -> list[str]:
    """The help of a verb, or of the program where none is named or none is called so."""
    return _VERBS.get(verbs[0] if verbs else "", _MAIN).splitlines()
