package convert

import (
	"fmt"
	"os"
	"os/exec"
	"strings"
	"testing"
)

// TestScript: what is understood becomes elastic, and sluice submit takes the result.
func TestScript(t *testing.T) {
	for name, c := range map[string]struct{ header, command, size, call string }{
		"gres":        {"#SBATCH --gres=gpu:4\n", "python3 train.py", "--min-gpus=1 --max-gpus=8", `srun "$SLUICE" ranks -- python3 train.py`},
		"nodes":       {"#SBATCH -N 2\n#SBATCH --gres=gpu:a100:4\n#SBATCH --ntasks-per-node=4\n", "srun python train.py --epochs=90 -v", "--min-gpus=1 --max-gpus=16 --gpu-types=a100 --epochs=90", `srun "$SLUICE" ranks -- python train.py --epochs=90 -v`},
		"gpus":        {"#SBATCH --gpus=6 # all\n#SBATCH -n 6\n", "  exec srun /opt/py/bin/python3.11 -u train.py", "--min-gpus=1 --max-gpus=12", `  exec srun "$SLUICE" ranks -- /opt/py/bin/python3.11 -u train.py`},
		"typed gpus":  {"#SBATCH -G h100:2\n", "python3 train.py --num-epochs 3", "--min-gpus=1 --max-gpus=4 --gpu-types=h100 --epochs=3", `srun "$SLUICE" ranks -- python3 train.py --num-epochs 3`},
		"per node":    {"#SBATCH --gpus-per-node=2\n#SBATCH --nodes=3\n", "python3 train.py", "--min-gpus=1 --max-gpus=12", `srun "$SLUICE" ranks -- python3 train.py`},
		"torchrun":    {"#SBATCH --gres=gpu:2\n", "srun torchrun --nproc_per_node=2 --standalone --nnodes 1 train.py --lr 0.1", "--min-gpus=1 --max-gpus=4", `srun "$SLUICE" ranks --torchrun -- train.py --lr 0.1`},
		"as a module": {"#SBATCH --gres=gpu:2\n", "python3 -m torch.distributed.run --nproc-per-node 2 train.py", "--min-gpus=1 --max-gpus=4", `srun "$SLUICE" ranks --torchrun -- python3 train.py`},
	} {
		text := "#!/bin/bash\n#SBATCH --time=60\n" + c.header + "\nmodule load cuda\n" + c.command + "\necho done\n"
		got, _ := Script("job.sh", text, "")
		want := "#!/bin/bash\n#SBATCH --time=60\n#SLUICE " + c.size + "\n\nmodule load cuda\n" + c.call + "\necho done\n"
		if got.Text != want {
			t.Errorf("%s: %q, want %q; %q", name, got.Text, want, got.Notes)
		}
		if err := submittable("job.sh", got.Text); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		if again, _ := Script("job.sh", got.Text, ""); again.Text != got.Text || len(again.Notes) != 1 {
			t.Errorf("%s: a second time %q", name, again.Notes)
		}
	}
}

// TestScriptsThatStay: what is not understood is not changed, and a note says why.
func TestScriptsThatStay(t *testing.T) {
	for text, note := range map[string]string{
		"#!/bin/bash\npython3 train.py\n":                                       "it has no #SBATCH lines",
		"#!/bin/bash\n#SBATCH --time=60\npython3 train.py\n":                    "it asks for no GPUs",
		"#!/bin/bash\n#SBATCH --gres=gpu:2,shard:1\npython3 train.py\n":         `job.sh:2: "#SBATCH --gres=gpu:2,shard:1" is not understood`,
		"#!/bin/bash\n#SBATCH --nodes=2-4 --gres=gpu:2\npython3 train.py\n":     "is not understood",
		"#!/bin/bash\n#SBATCH --gpus=2\n./train\n":                              "no line runs python or torchrun",
		"#!/bin/bash\n#SBATCH --gpus=2\npython3 prepare.py\npython3 train.py\n": "lines 3-4 run python; name the training program",
		"#!/bin/bash\n#SBATCH --gpus=2\npython3 train.py \\\n  --lr 1\n":        "job.sh:3: the command goes on, is piped or redirected",
		"#!/bin/bash\n#SBATCH --gpus=2\npython3 train.py > log\n":               "goes on, is piped or redirected",
		"#!/bin/bash\n#SBATCH --gpus=2\nsrun --ntasks=2 python3 train.py\n":     "no line runs python",
		"#!/bin/bash\n#SBATCH --gpus=2\ntorchrun --rdzv-conf=a=b train.py\n":    "options of torchrun are not understood",
		"#!/bin/bash\n#SLUICE --max-gpus=2\npython3 train.py\n":                 "it has #SLUICE lines already",
		"#!/bin/bash\n#SBATCH --gpus=999999999999999999999\npython3 train.py\n": "job.sh",
		"": "it has no #SBATCH lines",
	} {
		got, _ := Script("job.sh", text, "")
		if got.Text != text || !strings.Contains(strings.Join(got.Notes, "\n"), note) {
			t.Errorf("%q: %q, want %q; changed %v", text, got.Notes, note, got.Text != text)
		}
	}
	text := "#!/bin/bash\n#SBATCH --gpus=2\npython3 prepare.py\npython3 code/train.py\n"
	if got, _ := Script("job.sh", text, "code/train.py"); !strings.Contains(got.Text, `ranks -- python3 code/train.py`) || !strings.Contains(got.Text, "\npython3 prepare.py\n") {
		t.Errorf("%q: %q", got.Text, got.Notes)
	}
}

const plain = `import os
import torch
from torch.nn.parallel import DistributedDataParallel as DDP
from torch.utils.data import DataLoader, DistributedSampler

def train(data, rank):
    model = DDP(Net().to(rank))
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
    sampler = DistributedSampler(data, shuffle=True)
    loader = DataLoader(data, batch_size=32, sampler=sampler, num_workers=4, pin_memory=True)
    for epoch in range(10):
        sampler.set_epoch(epoch)
        model.train()
        for i, (x, y) in enumerate(loader):
            x, y = x.to(rank), y.to(rank)
            optimizer.zero_grad(set_to_none=True)

            # forward
            loss = torch.nn.functional.cross_entropy(model(x), y)
            loss.backward()
            torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
            optimizer.step()
        print(epoch, evaluate(model))
`

const wanted = `import os
import sluice.torch
import torch
from torch.nn.parallel import DistributedDataParallel as DDP
from torch.utils.data import DataLoader, DistributedSampler

def train(data, rank):
    model = DDP(Net().to(rank))
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
    training = sluice.torch.Elastic(model, optimizer, dataset=data, batch=32 * 4, epochs=10, workers=4, pin_memory=True)
    for epoch in training.epochs():
        model.train()
        for step in training.steps():
            optimizer.zero_grad(set_to_none=True)
            for x, y in step:
                x, y = x.to(rank), y.to(rank)

                # forward
                loss = torch.nn.functional.cross_entropy(model(x), y)
                step.backward(loss)
            torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
            optimizer.step()
        print(epoch, evaluate(model))
`

// TestProgram: a plain DDP training, and the one of which the example was made.
func TestProgram(t *testing.T) {
	if got := Program("train.py", plain, 4); got.Text != wanted {
		t.Errorf("%s\n%q", got.Text, got.Notes)
	}
	if again := Program("train.py", wanted, 4); again.Text != wanted || !strings.Contains(again.Notes[0], "imports sluice already") {
		t.Errorf("a second time: %q", again.Notes)
	}
	upstream, err := os.ReadFile("../../checkpoint/python/examples/upstream/train_ddp.py")
	if err != nil {
		t.Fatal(err)
	}
	got := Program("train.py", string(upstream), 0)
	for _, line := range []string{
		"    training = sluice.torch.Elastic(model, optimizer, scheduler, dataset=data, batch=a.global_batch, epochs=a.epochs, seed=a.seed)\n",
		"    for epoch in training.epochs():\n        for step in training.steps():\n            optimizer.zero_grad()\n            for inputs, labels in step:\n",
		"                step.backward(loss)\n            optimizer.step()\n            scheduler.step()\n    if a.output",
	} {
		if !strings.Contains(got.Text, line) {
			t.Errorf("%q is not in\n%s", line, got.Text)
		}
	}
	python, err := exec.LookPath("python3")
	if err != nil {
		t.Skip("NOT TESTED: whether it is Python; there is no python3")
	}
	cmd := exec.Command(python, "-c", "import ast, sys; ast.parse(sys.stdin.read())")
	cmd.Stdin = strings.NewReader(got.Text)
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Errorf("%v: %s", err, out)
	}
}

// TestBatch: the batch of all processes together is the same at every size, whether a constant, an option or
// a division gives it; where it is not known to be, the program stays as it is.
func TestBatch(t *testing.T) {
	const head, loader = "import torch\n", "    loader = DataLoader(data, batch_size=32,"
	for _, c := range []struct {
		above, batch string // lines above the function, what the DataLoader gets
		ranks        int
		want         string // batch=, or a part of the note
	}{
		{"", "32", 4, "batch=32 * 4,"},
		{"", "32", 1, "batch=32,"},
		{"", "args.batch_size", 4, "batch=args.batch_size * 4,"},
		{"BATCH = 32\n", "BATCH", 8, "batch=BATCH * 8,"},
		{"", "args.batch_size + 8", 4, "batch=(args.batch_size + 8) * 4,"},
		{"", "64 if big else 32", 4, "batch=(64 if big else 32) * 4,"},
		{"", "int(args.batch)", 4, "batch=int(args.batch) * 4,"},
		{"", "config['batch']", 2, "batch=config['batch'] * 2,"},
		{"", "args.batch // dist.get_world_size()", 0, "batch=args.batch,"},
		{"", "args.batch // args.world_size", 4, "batch=args.batch,"},
		{"", `256 // int(os.environ["WORLD_SIZE"])`, 4, "batch=256,"},
		{"", "int(args.batch / world_size)", 4, "batch=args.batch,"},
		{"", "max(1, args.batch // torch.distributed.get_world_size())", 4, "batch=args.batch,"},
		{"", "2 * args.batch // world_size", 4, "batch=2 * args.batch,"},
		{"SIZE = 256 // dist.get_world_size()\n", "SIZE", 4, "batch=256,"},
		{"SIZE = int(args.batch / args.world_size)\n", "SIZE", 0, "batch=args.batch,"},
		{"batch_size = args.batch_size // world_size\n", "batch_size", 4, "batch=args.batch_size,"},
		{"p.add_argument('--batch', type=int, default=8, help='for each of the GPUs')\n", "args.batch", 4, "batch=args.batch * 4,"},
		// Not understood.
		{"", "8 + args.batch // world_size", 4, "in a way that is not understood"},
		{"", "32 * torch.cuda.device_count()", 4, "in a way that is not understood"},
		{"", "args.batch // ngpus_per_node", 4, "in a way that is not understood"},
		{"args.batch_size = int(args.batch_size / ngpus_per_node)\n", "args.batch_size", 4, "in a way that is not understood"},
		{"args.batch_size //= dist.get_world_size()\n", "args.batch_size", 1, "in a way that is not understood"},
		{"n = dist.get_world_size()\nSIZE = 256 // n\n", "SIZE", 4, "in a way that is not understood"},
		{"SIZE = 64 // world_size\nSIZE = 32\n", "SIZE", 4, "in a way that is not understood"},
		{"p.add_argument('-b', '--batch-size', default=256 // torch.cuda.device_count())\n", "args.batch_size", 4, "in a way that is not understood"},
		{"def main():\n    SIZE = 64 // world_size\n    train(data, 0)\n", "SIZE", 4, "in a way that is not understood"},
		{"", "32", 0, "the batch of all GPUs together is not known"},
	} {
		text := head + c.above + strings.TrimPrefix(strings.Replace(plain, loader, strings.Replace(loader, "32", c.batch, 1), 1), "import os\nimport torch\n")
		got := Program("train.py", text, c.ranks)
		if made := strings.HasPrefix(c.want, "batch="); made && !strings.Contains(got.Text, "dataset=data, "+c.want) || !made && (got.Text != text || !got.Unknown || !strings.Contains(strings.Join(got.Notes, "\n"), c.want)) {
			_, line, _ := strings.Cut(got.Text, "sluice.torch.Elastic")
			line, _, _ = strings.Cut(line, "\n")
			t.Errorf("%q, %s, %d processes: %q, want %s; %q", c.above, c.batch, c.ranks, line, c.want, got.Notes)
		}
	}
	given := strings.Replace(strings.Replace(plain, "def train(data, rank):", "def train(data, batch: int = 8, rank=0):", 1), "=32,", "=batch,", 1)
	for call, want := range map[string]string{
		"train(data, 32, 0)": "batch=batch * 4", "train(data, 32, world_size)": "batch=batch * 4", "train(data, rank=1)": "batch=batch * 4",
		"train(data, 256 // dist.get_world_size(), 0)": "line 24: this batch depends on the number of processes", "train(data, batch=256 // n_gpus)": "line 24: this batch depends",
	} {
		got := Program("train.py", given+call+"\n", 4)
		if !strings.Contains(got.Text+strings.Join(got.Notes, "\n"), want) {
			t.Errorf("%s: %q, want %s", call, got.Notes, want)
		}
	}
}

// TestProcesses: how many processes a script starts is how many parts its batch has.
func TestProcesses(t *testing.T) {
	for text, want := range map[string]int{
		"--gpus=4\nsrun python3 t.py": 4, "--gpus=4\n#SBATCH --ntasks=2\nsrun python3 t.py": 2, "--gres=gpu:4\n#SBATCH -N 2\n#SBATCH --ntasks-per-node=4\nsrun python3 t.py": 8,
		"--gpus=4\n#SBATCH -n 1\ntorchrun --nproc_per_node=4 t.py": 4, "--gpus=4\ntorchrun --nproc-per-node 2 t.py": 2, "--gpus=4\ntorchrun t.py": 1,
		"--gres=gpu:4\n#SBATCH -N 2\nsrun torchrun --nnodes=2 --nproc_per_node=gpu t.py": 8, "--gres=gpu:4\n#SBATCH --nodes=2\nsrun torchrun --nnodes=$SLURM_NNODES --nproc_per_node=4 t.py": 8,
	} {
		got, wants := Script("job.sh", "#!/bin/bash\n#SBATCH "+text+"\n", "t.py")
		note := fmt.Sprintf("it started %d processes on %d GPUs", want, wants.GPUs)
		if wants.Ranks != want || strings.Contains(strings.Join(got.Notes, "\n"), note) != (want != wants.GPUs) {
			t.Errorf("%q: %d, want %d; %q", text, wants.Ranks, want, got.Notes)
		}
	}
	for text, stays := range map[string]bool{
		"BATCH=$((256 / SLURM_NTASKS))": true, "export BATCH_SIZE=$((256/$WORLD_SIZE))": true, "# the batch is for SLURM_NTASKS": false, "echo $SLURM_NTASKS": false,
	} {
		text = "#!/bin/bash\n#SBATCH --gpus=4\n" + text + "\npython3 t.py --batch $BATCH\n"
		if got, _ := Script("job.sh", text, ""); (got.Text == text) != stays || stays && !strings.Contains(got.Notes[0], "job.sh:3: this batch is another at every size") {
			t.Errorf("%q: %q", text, got.Notes)
		}
	}
}

// TestProgramsThatStay: one statement that is not understood, and nothing is changed.
func TestProgramsThatStay(t *testing.T) {
	for _, c := range []struct{ old, new, note string }{
		{"DDP(Net", "wrap(Net", "wraps the model in DistributedDataParallel"},
		{"            optimizer.step()\n", "            optimizer.step()\n            total += loss.item()\n", `"total += loss.item()" after backward() is not understood`},
		{"            loss.backward()", "            scaler.scale(loss).backward()", "no plain LOSS.backward()"},
		{"            x, y = x.to(rank), y.to(rank)", "            print(i)", "uses the number of the batch, i"},
		{"            x, y = x.to(rank), y.to(rank)", "            if y.sum() > 1: continue", "leaves the loop"},
		{"shuffle=True", "shuffle=False", "this DistributedSampler is not understood"},
		{"num_workers=4", "batch_sampler=b", "this DataLoader is not understood"},
		{"    for epoch in range(10):", "    for epoch in range(3, 10):", "is in no loop"},
		{"        print(epoch", "        len(loader)\n        print(epoch", "loader is used in more places"},
		{"import torch\n", "", "import torch"},
		{"lr=1e-3", "lr=1e-3 * dist.get_world_size()", "line 8: this depends on the number of processes, and the batch of all does not"},
		{"    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3", "    rate = 1e-3 * world_size\n    optimizer = torch.optim.AdamW(model.parameters(), weight_decay=0.1,\n        lr=rate", "line 9: this depends"},
		{"def train(data, rank):", "def main():\n    mp.spawn(train, nprocs=4)\n\ndef train(data, rank):", "it starts its processes itself"},
		{"    loader = ", "    optimizer = torch.optim.SGD(model.parameters())\n    loader = ", "both make"},
	} {
		text := strings.Replace(plain, c.old, c.new, 1)
		got := Program("train.py", text, 4)
		if text == plain || got.Text != text || !strings.Contains(strings.Join(got.Notes, "\n"), c.note) {
			t.Errorf("%q: %q, want %q; changed %v", c.new, got.Notes, c.note, got.Text != text)
		}
	}
	if got := Program("train.py", plain, 0); got.Text != plain || !strings.Contains(got.Notes[0], "the batch of all GPUs together is not known") {
		t.Errorf("%q", got.Notes)
	}
}

// Any text is changed or left as it is, with a note, and a change can be made only once.
func FuzzConvert(f *testing.F) {
	f.Add(plain, 4)
	f.Add("#SBATCH --gpus=2\npython3 x.py --epochs 3", 1)
	f.Add("for x in loader:\n", 0)
	f.Fuzz(func(t *testing.T, text string, gpus int) {
		p := Program("p", text, gpus)
		s, _ := Script("s", text, "")
		for _, got := range []Proposal{p, s} {
			if got.Text == text && len(got.Notes) == 0 {
				t.Fatalf("nothing is changed or said of %q", text)
			}
		}
		if p.Text != text && Program("p", p.Text, gpus).Text != p.Text {
			t.Fatalf("%q is changed twice", text)
		}
	})
}
