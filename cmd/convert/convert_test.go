package convert

import (
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
