#!/usr/bin/env python3
"""A Hugging Face Trainer, complete: a small GPT-2, made from its configuration,
learns to count.

What makes it elastic is the import, the arguments of the batch, elastic() and what
train() is given: upstream/train_transformers.py is the same without.
"""

import argparse

import sluice.transformers
import torch
from transformers import GPT2Config, GPT2LMHeadModel, Trainer, TrainingArguments

VOCABULARY, LENGTH = 32, 16


class Counting(torch.utils.data.Dataset):
    """Sequences that count upwards from a random number by a random step."""

    def __init__(self, seed, samples):
        generator = torch.Generator().manual_seed(seed)
        first = torch.randint(VOCABULARY, (samples, 1), generator=generator)
        by = torch.randint(1, 5, (samples, 1), generator=generator)
        self.sequences = (first + by * torch.arange(LENGTH)) % VOCABULARY

    def __len__(self):
        return len(self.sequences)

    def __getitem__(self, index):
        return {"input_ids": self.sequences[index], "labels": self.sequences[index]}


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("--epochs", type=int, default=5)
    p.add_argument("--samples", type=int, default=970)
    p.add_argument("--batch", type=int, default=48)
    p.add_argument("--seed", type=int, default=1)
    p.add_argument("--learning-rate", type=float, default=1e-3)
    p.add_argument("--output", default="out")
    p.add_argument("--cpu", action="store_true")
    a = p.parse_args()
    config = GPT2Config(vocab_size=VOCABULARY, n_positions=LENGTH, n_embd=32, n_layer=2, n_head=2, bos_token_id=0, eos_token_id=0)
    arguments = TrainingArguments(
        output_dir=a.output, num_train_epochs=a.epochs, learning_rate=a.learning_rate, seed=a.seed, use_cpu=a.cpu,
        save_strategy="no", logging_steps=10, report_to="none", disable_tqdm=True,
        **sluice.transformers.batches(global_batch=a.batch, pieces=12),
    )
    torch.manual_seed(a.seed)
    trainer = Trainer(model=GPT2LMHeadModel(config), args=arguments, train_dataset=Counting(a.seed, a.samples))
    trainer = sluice.transformers.elastic(trainer)
    trainer.train(resume_from_checkpoint=sluice.transformers.checkpoint())
    print(f"finished after step {trainer.state.global_step}: epoch {trainer.state.epoch:g}")


if __name__ == "__main__":
    main()
