"""A DDP or FSDP training on a real GPU, that does real work in each step and notes it
in $STEPS: step, loss, number of ranks. All ranks use the machine's first GPU, which
the test's Slurm counts as eight: NCCL refuses that, so several ranks add up through
gloo, and one alone through NCCL."""

import os
import sys

os.environ.update(CUDA_VISIBLE_DEVICES="0", CUBLAS_WORKSPACE_CONFIG=":4096:8")

import sluice.fsdp  # noqa: E402
import sluice.torch  # noqa: E402
import torch  # noqa: E402
import torch.distributed as dist  # noqa: E402
from torch import nn  # noqa: E402
from torch.distributed.fsdp import fully_shard  # noqa: E402
from torch.nn.parallel import DistributedDataParallel  # noqa: E402

FEATURES, WIDTH, CLASSES, BATCH = 64, 2048, 8, 480
kind, epochs = sys.argv[1], int(sys.argv[2])
torch.use_deterministic_algorithms(True)
torch.cuda.set_device(0)
for name, value in {"RANK": "0", "WORLD_SIZE": "1", "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": "29500"}.items():
    os.environ.setdefault(name, value)
dist.init_process_group("nccl" if os.environ["WORLD_SIZE"] == "1" else "gloo")


def make_model():
    torch.manual_seed(1)
    layers = [nn.Sequential(nn.Linear(size, WIDTH), nn.GELU(), nn.Dropout(0.1)) for size in (FEATURES, WIDTH, WIDTH)]
    model = nn.Sequential(*layers, nn.Linear(WIDTH, CLASSES)).cuda()
    if kind == "ddp":
        return DistributedDataParallel(model)
    mesh = dist.init_device_mesh("cuda", (dist.get_world_size(),))
    for layer in layers:
        fully_shard(layer, mesh=mesh)
    return fully_shard(model, mesh=mesh)


def make_data():
    generator = torch.Generator().manual_seed(1)
    inputs = torch.randn(10 * BATCH, FEATURES, generator=generator)
    teacher = torch.randn(FEATURES, CLASSES, generator=generator)
    return torch.utils.data.TensorDataset(inputs, (inputs @ teacher).argmax(dim=1))


def compute():
    """Work for the GPU, so that a step takes long enough to be seen."""
    square = torch.ones(4096, 4096, device="cuda", dtype=torch.bfloat16)
    for _ in range(int(os.environ.get("PRODUCTS", "700"))):
        square = square @ square * 1e-4
    torch.cuda.synchronize()


model = make_model()
optimizer = torch.optim.AdamW(model.parameters(), lr=1e-4)
build = sluice.torch.Elastic if kind == "ddp" else sluice.fsdp.Elastic
training = build(model, optimizer, dataset=make_data(), batch=BATCH, epochs=epochs, shards=12, seed=1, pin_memory=True)
for step in training:
    optimizer.zero_grad()
    for inputs, labels in step:
        loss = nn.functional.cross_entropy(model(inputs.cuda(non_blocking=True)), labels.cuda(non_blocking=True))
        step.backward(loss)
    optimizer.step()
    compute()
    value = step.loss()
    if training.rank == 0:
        with open(os.environ["STEPS"], "a") as f:
            f.write(f"{step.number + 1} {value!r} {training.size}\n")
if training.rank == 0:
    print(f"finished after step {training.step} on {torch.cuda.get_device_name()}", flush=True)
dist.barrier()
dist.destroy_process_group()
