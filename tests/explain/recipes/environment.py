"""Something that a Python script needs is missing on the host, or does not match."""
from tests.explain.recipes.recipe import Recipe, on

EXTENSION = "echo 'void missing_function(void); void *PyInit_fast(void) { missing_function(); return 0; }' | gcc -shared -fPIC -o /tmp/fast.so -xc -"
# A module that requires a version of {library} that no host has, because it was linked with a stand-in of
# that version.
NEWER = ("cd /tmp; echo '{version} {{ global: newest; }};' > map; echo 'int newest(void) {{ return 0; }}' | gcc -shared -fPIC -nostdlib -Wl,-soname,{library} "
         "-Wl,--version-script=map -o stand-in.so -xc -; echo 'int newest(void); int PyInit_fast(void) {{ return newest(); }}' | "
         "gcc -shared -fPIC -nostdlib -o fast.so -xc - -xnone ./stand-in.so; rm stand-in.so map")
IMPORT = "import sys\nsys.path.insert(0, '/tmp')\nimport fast\n"
REMOVE = [on("n1", "rm /tmp/fast.so")]


def python(id, name, text, interpreter="python3", files=None, **more):
    return Recipe(id, name, f"ssh n1 '{interpreter} HERE/train.py'", files={"train.py": text, **(files or {})}, **more)


RECIPES = [
    python("remote-python-env-missing", "the Python of the system instead of the environment", "import torch\n", "/usr/bin/python3"),
    python("python-module-missing", "a package that is not installed", "import transformers_of_nobody\n", says="transformers_of_nobody"),
    python("python-import-name-missing", "a name that the module does not have", "from json import no_such_function\n", says="json"),
    python("python-import-name-missing", "a file of the project that hides a module", "import random\nprint(random.random())\n",
           files={"random.py": "import random\nnumber = random.randint(1, 2)\n"}, says="random"),
    python("remote-shared-library-missing", "a library that a package needs", "import ctypes\nctypes.CDLL('libcudart.so.12')\n", says="libcudart.so.12"),
    python("python-extension-undefined-symbol", "an extension that was built for another version", IMPORT, make=[on("n1", EXTENSION)], undo=REMOVE),
    python("glibc-too-old", "an extension that was built on a newer system", IMPORT, make=[on("n1", NEWER.format(library="libc.so.6", version="GLIBC_2.99"))], undo=REMOVE),
    python("libstdcxx-too-old", "an extension that wants a newer C++ library", IMPORT, make=[on("n1", NEWER.format(library="libstdc++.so.6", version="GLIBCXX_3.4.99"))],
           undo=REMOVE),
    python("python-too-old", "a script with a typo", "print('epoch' 1)\nfor: pass\n"),
    Recipe("conda-activate-not-initialized", "conda in a login that does not know it", "ssh n1 'conda activate train && python train.py'"),
    Recipe("command-not-found", "torchrun outside of its environment", "ssh n1 'torchrun --nproc-per-node 2 train.py'"),
    Recipe("env-var-rank-missing", "a script for torchrun under mpirun", "mpirun -np 2 -H n1,n2 python3 HERE/train.py", mpi="openmpi4", files={"train.py": "import os\nrank = int(os.environ['LOCAL_RANK'])\n"}),
    python("env-proxy-hijacks-traffic", "a proxy that refuses", "import http.server, os, threading, urllib.request\n"
           "server = http.server.HTTPServer(('127.0.0.1', 0), http.server.BaseHTTPRequestHandler)\nthreading.Thread(target=server.serve_forever, daemon=True).start()\n"
           "os.environ['https_proxy'] = f'http://127.0.0.1:{server.server_port}'\nurllib.request.urlopen('https://n2/model')\n"),
]
