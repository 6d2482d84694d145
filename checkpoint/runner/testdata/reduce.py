"""An all-reduce of 25 MB with gloo, ROUNDS times: the middle time in seconds is written into $SLUICE_JOB_DIR/reduced."""
import os
import sys
import time

import torch
import torch.distributed as dist

torch.set_num_threads(1)
dist.init_process_group("gloo")
data, times = torch.ones(25 * 1000 * 1000 // 4), []
for _ in range(int(sys.argv[1])):
    dist.barrier()
    begun = time.perf_counter()
    dist.all_reduce(data)
    times.append(time.perf_counter() - begun)
assert float(data[0]) == 2.0 ** int(sys.argv[1]), data[0]
if dist.get_rank() == 0:
    with open(os.path.join(os.environ["SLUICE_JOB_DIR"], "reduced"), "w", encoding="ascii") as f:
        f.write("%f" % sorted(times)[len(times) // 2])
dist.destroy_process_group()
