"""Cheats against `evaluate`: policies that try to get what they must not have, and play better if they do.

Each is the honest policy `HONEST` with one method of its own. The honest policy declines every second task. A cheat
admits these, too, if `cheat` returns True: it has seen, changed or taken what is out of bounds. So a cheat that works
has a higher score than the honest policy, and one that does nothing has the same score.
"""

import textwrap
from dataclasses import dataclass

# A higher score than the honest policy; the same or a lower one; a run that is not valid, so that the score is 0
WORKS, NOTHING, STOPPED = "works", "nothing", "stopped"

HONEST = '''
import os
import subprocess
import sys
import tempfile
import time

import ratiobench.online.lora.protocol as protocol
from ratiobench.instances.lora.solution import Decision

ROOT = os.path.dirname(protocol.__file__).rpartition("/online/")[0]
WAIT = 3


def python(text, *words):
    """What a child Python prints: it has no watch."""
    command = [sys.executable, "-c", text, *map(str, words)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60)
    return done.stdout.strip()


def pipes():
    """The descriptors of this process's pipes beyond the standard ones."""
    import stat

    found = []
    for number in range(3, 16):
        try:
            if stat.S_ISFIFO(os.fstat(number).st_mode):
                found.append(number)
        except OSError:
            pass
    return found


class Policy:
    """Earliest schedule on the first node that has one, for every second task."""

    def __init__(self, options):
        self.target = options["target"]
        self.referee, self.address, self.port = (int(options[each]) for each in ("referee", "address", "port"))

    def start(self, public, constants):
        self.public = public
        try:
            self.gain = bool(self.cheat())
        except Exception:
            self.gain = False

    def cheat(self):
        return False

    def plan(self, task, view):
        for node, free in enumerate(view.room(task, self.public)):
            slots = [slot for slot in range(task.arrival, task.deadline + 1) if free[slot - 1]]
            needed = -(-task.work // max(1, int(task.rate[self.public.type_of_node[node]])))
            if len(slots) >= needed and not task.vendors:
                return Decision(None, tuple((node, slot) for slot in slots[:needed]), 0)
        return None

    def decide(self, task, view):
        return self.plan(task, view) if self.gain or task.index % 2 == 0 else None
'''


@dataclass(frozen=True, slots=True)
class Cheat:
    what: str  # it in words
    open_result: str  # the result without isolation
    result: str  # the result with isolation, of either kind
    root: bool = False  # the result without isolation is that of root; other users get nothing
    text: str = ""  # the statements of the method `cheat`
    members: str = ""  # or members in the place of the honest policy's


def policy_text(cheat: Cheat, wait: float) -> str:
    """The policy's file.

    `wait`: seconds for which it holds too much, so that the referee has the time to see it.
    """
    text = cheat.members.strip("\n") or "def cheat(self):\n" + textwrap.indent(cheat.text.strip("\n"), "    ")
    lines = textwrap.indent(text, "    ")
    return f"{HONEST}\n{lines}\n".replace("\nWAIT = 3\n", f"\nWAIT = {wait}\n")


CHEATS: dict[str, Cheat] = {
    # ------------------------------------------------------------------------------------------ read what is hidden
    "standard set": Cheat("reads certificates of the standard set", STOPPED, NOTHING, text="""
folder = ROOT + "/bench/standard/R1"
return any(open(f"{folder}/{name}", "rb").read(9) for name in os.listdir(folder)[:3])
"""),
    "child reads": Cheat("has a child Python read certificates of the standard set", WORKS, NOTHING, text="""
text = "import os,sys; d=sys.argv[1]+'/bench/stan'+'dard/R1'; "
text += "print(len(open(d+'/'+os.listdir(d)[0],'rb').read()))"
return int(python(text, ROOT)) > 0
"""),
    "shell reads": Cheat("has a shell read the instances that are shipped", WORKS, NOTHING, text="""
done = subprocess.run(["sh", "-c", "head -c 99 instances/lora/nam*/*"], capture_output=True, cwd=ROOT)
return len(done.stdout) > 99
"""),
    "generator": Cheat("loads the generator of instances", STOPPED, STOPPED, text="""
__import__("ratiobench.instances.lora.gen" + "erate")
return True
"""),
    "child generates": Cheat("has a child Python load the generator of instances", WORKS, NOTHING, text="""
text = "import sys; sys.path.insert(0, sys.argv[1]); import ratiobench.instances.lora as a; import importlib; "
text += "print(len(vars(importlib.import_module(a.__name__ + '.gen' + 'erate'))) > 20)"
return python(text, ROOT) == "True"
"""),
    "user's file": Cheat("reads a file of the user", WORKS, NOTHING, text="""
return open(self.target + "/secret").read() == "secret"
"""),
    "environment": Cheat("reads the user's environment variables", WORKS, NOTHING, text="""
return "RATIOBENCH_SECRET" in os.environ
"""),
    "first environment": Cheat("reads the environment with which its process began", WORKS, NOTHING, text="""
return b"RATIOBENCH_SECRET" in open("/proc/self/environ", "rb").read()
"""),
    "processes": Cheat("looks through the environments of all processes", WORKS, NOTHING, text="""
done = subprocess.run(["sh", "-c", "cat /pro?/[0-9]*/environ"], capture_output=True)
return b"RATIOBENCH_SECRET" in done.stdout
"""),
    # ------------------------------------------------------------------------------------ look into other processes
    "memory of the referee": Cheat("opens the referee's memory in /proc", STOPPED, STOPPED, text="""
return bool(open(f"/proc/{self.referee}/mem", "rb"))
"""),
    "child opens memory": Cheat(
        "has a child Python open the referee's memory in /proc", WORKS, NOTHING, root=True, text="""
return python("import sys; print(open('/pr'+'oc/'+sys.argv[1]+'/mem', 'rb').fileno())", self.referee) != ""
"""),
    "process_vm_readv": Cheat("copies the referee's memory by process_vm_readv", WORKS, NOTHING, root=True, text="""
text = "import ctypes,sys; libc=ctypes.CDLL(None); Part=ctypes.c_void_p*2; here=ctypes.create_string_buffer(6); "
text += "one=Part(ctypes.addressof(here),6); other=Part(int(sys.argv[2]),6); "
text += "print(libc.process_vm_readv(int(sys.argv[1]),one,1,other,1,0), here.raw)"
return "secret" in python(text, self.referee, self.address)
"""),
    "ptrace": Cheat("traces the referee by ptrace", WORKS, NOTHING, root=True, text="""
text = "import ctypes,sys; print(ctypes.CDLL(None).ptrace(0x4206,int(sys.argv[1]),0,0))"
return python(text, self.referee) == "0"
"""),
    "signal": Cheat("sends the referee a signal", WORKS, NOTHING, text="""
import signal

os.kill(self.referee, signal.SIGCONT)
return True
"""),
    "limits of the referee": Cheat("sets a limit of the referee's resources", WORKS, NOTHING, root=True, text="""
import resource

resource.prlimit(self.referee, resource.RLIMIT_CORE, resource.prlimit(self.referee, resource.RLIMIT_CORE))
return True
"""),
    "all objects": Cheat("searches all objects of its process for later arrivals", STOPPED, STOPPED, text="""
import gc

return any(type(each).__name__ == "Instance" for each in gc.get_objects())
"""),
    "frames": Cheat("searches the frames of its callers for later arrivals", NOTHING, NOTHING, text="""
frame = sys._getframe()
while frame is not None:
    if any("Instance" in type(each).__name__ for each in frame.f_locals.values()):
        return True
    frame = frame.f_back
return False
"""),
    "pending messages": Cheat("reads its pipes for arrivals that have not been asked about", NOTHING, NOTHING, text="""
import fcntl

for number in pipes():
    flags = fcntl.fcntl(number, fcntl.F_GETFL)
    fcntl.fcntl(number, fcntl.F_SETFL, flags | os.O_NONBLOCK)
    try:
        if flags & 3 == os.O_RDONLY and os.read(number, 1):
            return True
    except OSError:
        pass
    finally:
        fcntl.fcntl(number, fcntl.F_SETFL, flags)
return False
"""),
    "names": Cheat("looks for the instance's name or recipe in what it is given", NOTHING, NOTHING, text="""
shown = str({name: getattr(self.public, name) for name in dir(self.public) if not name.startswith("__")})
return "tiny" in shown or "recipe" in shown or hasattr(self.public, "name")
"""),
    # ------------------------------------------------------------------------------------- keep state between runs
    "class attribute": Cheat("keeps state in a class between instances", NOTHING, NOTHING, members="""
runs = 0

def cheat(self):
    type(self).runs += 1
    return type(self).runs > 2
"""),
    "temporary file": Cheat("keeps state in a temporary file between instances", WORKS, NOTHING, text="""
with open(f"{tempfile.gettempdir()}/cheat-{self.referee}", "a+") as file:
    file.write("x")
    file.seek(0)
    return len(file.read()) > 2
"""),
    "shared memory": Cheat("keeps state in /dev/shm between instances", WORKS, NOTHING, text="""
with open(f"/dev/shm/cheat-{self.referee}", "a+") as file:
    file.write("x")
    file.seek(0)
    return len(file.read()) > 2
"""),
    "System V memory": Cheat("keeps state in shared memory of System V", WORKS, NOTHING, text="""
text = "import ctypes; c=ctypes.CDLL(None); n=c.shmget(0,4096,0o1600); print(n>=0 and c.shmctl(n,0,None)==0)"
return python(text) == "True"
"""),
    "surviving child": Cheat("leaves a process that survives the run", NOTHING, NOTHING, text="""
name = f"{self.target}/child"
try:
    alive = os.kill(int(open(name).read()), 0) is None
except (OSError, ValueError):
    alive = False
if os.fork() == 0:
    os.setsid()
    if os.fork() == 0:
        time.sleep(60)
    os._exit(0)
return alive
"""),
    "package": Cheat("writes into the package's folder", WORKS, NOTHING, text="""
with open(f"{ROOT}/online/cheat.tmp", "w") as file:
    file.write("x")
os.remove(f"{ROOT}/online/cheat.tmp")
return True
"""),
    "libraries": Cheat("writes into the folder of installed libraries", WORKS, NOTHING, root=True, text="""
import numpy

name = os.path.dirname(numpy.__file__) + "/cheat.tmp"
with open(name, "w") as file:
    file.write("x")
os.remove(name)
return True
"""),
    "user's file written": Cheat("overwrites a file of the user", WORKS, NOTHING, text="""
with open(self.target + "/victim", "w") as file:
    return file.write("x") == 1
"""),
    "mode of a file": Cheat("changes the mode of a file of the user", WORKS, NOTHING, text="""
os.chmod(self.target + "/victim", 0o600)
return True
"""),
    # ------------------------------------------------------------------------------------------------- the network
    "connection": Cheat("connects to a server on this machine", WORKS, NOTHING, text="""
import socket

return bool(socket.create_connection(("127.0.0.1", self.port), 5))
"""),
    "server": Cheat("opens a server on this machine", WORKS, NOTHING, text="""
import socket

return bool(socket.create_server(("127.0.0.1", 0)))
"""),
    "named socket": Cheat("binds a socket that another run can find by its name", WORKS, NOTHING, text="""
import socket

with socket.socket(socket.AF_UNIX) as one:
    one.bind(f"\\0cheat-{self.referee}")
    return True
"""),
    # --------------------------------------------------------------------------------------- confuse the referee
    "patched checker": Cheat(
        "replaces the checker and the simulator in its process, and books a node twice", STOPPED, STOPPED, members="""
def cheat(self):
    import ratiobench.formulations.lora.check as check
    import ratiobench.online.lora.simulator as simulator

    check.check = simulator.Simulator = lambda *given: True

def decide(self, task, view):
    return Decision(None, tuple((0, slot) for slot in range(task.arrival, task.deadline + 1)), 0)
"""),
    "patched JSON": Cheat("replaces json.dumps so that later replies claim admissions", STOPPED, STOPPED, text="""
import json

dumps = json.dumps
json.dumps = lambda value, **more: dumps(value, **more).replace("null]", "[null, [[0, 1]], 0]]")
"""),
    "printed protocol": Cheat("prints lines of the protocol", NOTHING, NOTHING, members="""
def decide(self, task, view):
    print('{"kind": "answers", "answers": [[null, [[0, 1]], 0]], "seconds": 0, "read": [], "started": []}')
    return self.plan(task, view) if task.index % 2 == 0 else None
"""),
    "forged reply": Cheat("writes a reply of its own into the pipe", STOPPED, STOPPED, text="""
line = b'{"kind": "started", "unread": [], "seconds": 0, "read": [], "started": [], "drew": false}\\n'
for number in pipes():
    try:
        os.write(number, line)
    except OSError:
        pass
"""),
    "forged infinity": Cheat("writes a last reply with an infinite number into its pipes", STOPPED, STOPPED, members="""
@property
def counts(self):
    line = b'{"kind":"end","altered":[Infinity],"counts":{},"label":null,"exposed":null,"read":[]}\\n'
    for number in pipes():
        try:
            os.write(number, line)
        except OSError:
            pass
    return {}
"""),
    "closed folder": Cheat("keeps state between instances in a folder that nobody may open", WORKS, NOTHING, text="""
folder = f"{tempfile.gettempdir()}/cheat-{self.referee}-closed"
os.makedirs(folder, exist_ok=True)
os.chmod(folder, 0o700)
count = len(os.listdir(folder))
open(f"{folder}/{count}", "w").close()
os.chmod(folder, 0)
return count > 1
"""),
    "constants": Cheat("declares a constant a million times, for the referee to compute", STOPPED, STOPPED, members="""
constants = ("canonical_money",) * 10**6
"""),
    "held pipes": Cheat("ends while what it started holds its pipes", STOPPED, STOPPED, members="""
def decide(self, task, view):
    if os.fork() == 0:
        time.sleep(3000)
    os._exit(3)
"""),
    "forged compiling": Cheat("says that numba compiles, to stop the clock", NOTHING, NOTHING, members="""
def decide(self, task, view):
    for number in pipes():
        try:
            os.write(number, b'"compiles"\\n"compiled"\\n')
        except OSError:
            pass
    return self.plan(task, view) if task.index % 2 == 0 else None
"""),
    "forged clock": Cheat("stops the clock that measures its decisions", NOTHING, NOTHING, text="""
from ratiobench.formulations import timing

timing.Stopwatch.seconds = lambda self: 0.0
"""),
    "equal to all": Cheat("answers with integers that are equal to all others", STOPPED, STOPPED, members="""
def decide(self, task, view):
    class Any(int):
        __hash__ = int.__hash__
        __eq__ = __le__ = __ge__ = lambda self, other: True
        __lt__ = __gt__ = __ne__ = lambda self, other: False

    return Decision(None, tuple((Any(0), Any(slot)) for slot in range(task.arrival, task.deadline + 1)), Any(0))
"""),
    "no number": Cheat("pays NaN", STOPPED, STOPPED, members="""
def decide(self, task, view):
    found = self.plan(task, view)
    return found and found._replace(payment=float("nan"))
"""),
    "huge number": Cheat("pays a number of ten thousand digits", STOPPED, STOPPED, members="""
def decide(self, task, view):
    found = self.plan(task, view)
    return found and found._replace(payment=10**10_000)
"""),
    "same cell twice": Cheat("counts the same node and slot several times", STOPPED, STOPPED, members="""
def decide(self, task, view):
    return Decision(None, ((0, task.arrival),) * 50, 0)
"""),
    "nested answer": Cheat("answers with lists in lists, a hundred thousand deep", STOPPED, STOPPED, members="""
def decide(self, task, view):
    found = []
    for _ in range(100_000):
        found = [found]
    return (None, found, 0)
"""),
    "altered answer": Cheat("alters an answer after it was given", STOPPED, STOPPED, members="""
def decide(self, task, view):
    found = self.plan(task, view)
    if found is None:
        return None
    for each in getattr(self, "last", ()):
        each[1] += 1
    self.last = [list(each) for each in found.cells]
    return (None, self.last, 0)
"""),
    # ------------------------------------------------------------------------------- depend on what is not the past
    "hash seed": Cheat("decides by the hash of a text, which differs between processes", STOPPED, STOPPED, members="""
def decide(self, task, view):
    return self.plan(task, view) if hash(f"text {task.index}") % 2 else None
"""),
    "chance": Cheat("decides by unseeded random numbers", STOPPED, STOPPED, members="""
def decide(self, task, view):
    return self.plan(task, view) if os.urandom(1)[0] % 2 else None
"""),
    # -------------------------------------------------------------------------------------- bring down the evaluator
    "memory": Cheat("takes more memory than is allowed", STOPPED, STOPPED, text="""
self.taken = []
for _ in range(80):
    self.taken.append(bytearray(os.urandom(2**20) * 10))
    time.sleep(0.02)
return True
"""),
    "open files": Cheat("opens two thousand files at a time", WORKS, NOTHING, text="""
import resource

_, most = resource.getrlimit(resource.RLIMIT_NOFILE)
resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))
return bool([os.open("/dev/null", os.O_RDONLY) for _ in range(2000)])
"""),
    "disk": Cheat("keeps 320 MB in temporary files", WORKS, "", text="""
names = [f"{tempfile.gettempdir()}/cheat-{self.referee}-{number}" for number in range(2)]
try:
    for name in names:
        with open(name, "wb", buffering=0) as file:
            for _ in range(160):
                if file.write(bytes(2**20)) < 2**20:
                    return False
    time.sleep(WAIT)
    return True
finally:
    for name in names:
        os.remove(name)
"""),
    "processes at a time": Cheat("starts two hundred processes at a time", STOPPED, STOPPED, text="""
for _ in range(200):
    if os.fork() == 0:
        time.sleep(30)
        os._exit(0)
time.sleep(WAIT)
return True
"""),
    "output": Cheat("prints 20 MB", NOTHING, NOTHING, text="""
for _ in range(20):
    print("x" * 10**6)
"""),
    "endless decision": Cheat("never answers", STOPPED, STOPPED, members="""
def decide(self, task, view):
    while True:
        pass
"""),
    "recursion": Cheat("calls itself without an end, with no limit of recursion", STOPPED, STOPPED, members="""
def decide(self, task, view):
    sys.setrecursionlimit(10**9)
    return sorted([1, 2], key=lambda each: self.decide(task, view))
"""),
    "clock": Cheat("sets the clock", WORKS, NOTHING, root=True, text="""
time.clock_settime(time.CLOCK_REALTIME, time.time())
return True
"""),
    "exit handler": Cheat("writes replies when its process ends", NOTHING, NOTHING, text="""
import atexit

atexit.register(lambda: [os.write(number, b"{}\\n") for number in pipes()])
"""),
    "signals ignored": Cheat("ignores all signals, to outlive its run", NOTHING, NOTHING, text="""
import signal

for number in signal.valid_signals() - {signal.SIGKILL, signal.SIGSTOP}:
    signal.signal(number, signal.SIG_IGN)
"""),
    "preloaded library": Cheat("sets LD_PRELOAD and PYTHONSTARTUP for later processes", NOTHING, NOTHING, text="""
os.environ |= {"LD_PRELOAD": "/tmp/nothing.so", "PYTHONSTARTUP": "/tmp/nothing.py"}
"""),
    "error in a destructor": Cheat("raises errors in destructors", NOTHING, NOTHING, members="""
def decide(self, task, view):
    class Broken:
        def __del__(self):
            raise SystemExit(3)

    Broken()
    return self.plan(task, view) if task.index % 2 == 0 else None
"""),
    "exit": Cheat("ends its process with status 0", STOPPED, STOPPED, members="""
def decide(self, task, view):
    os._exit(0)
"""),
}  # fmt: skip
