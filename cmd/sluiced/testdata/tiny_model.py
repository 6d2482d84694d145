"""Makes, in the folder given, what a Hugging Face script needs and the hub would
give: a tiny model with its tokenizer, and a data set of text."""

import json
import os
import sys

import torch
from tokenizers import Tokenizer, models, pre_tokenizers
from transformers import LlamaConfig, LlamaForCausalLM, PreTrainedTokenizerFast

WORDS = "one two three four five six seven eight".split()


def main(base):
    os.makedirs(os.path.join(base, "data"))
    with open(os.path.join(base, "data", "train.jsonl"), "w", encoding="utf-8") as f:
        for n in range(240):
            f.write(json.dumps({"text": " ".join(WORDS[(n * 3 + i) % 8] for i in range(12))}) + "\n")
    vocabulary = {word: n for n, word in enumerate(["<unk>", "</s>", *WORDS])}
    tokenizer = Tokenizer(models.WordLevel(vocabulary, unk_token="<unk>"))
    tokenizer.pre_tokenizer = pre_tokenizers.Whitespace()
    fast = PreTrainedTokenizerFast(tokenizer_object=tokenizer, unk_token="<unk>", eos_token="</s>", pad_token="</s>")
    fast.save_pretrained(os.path.join(base, "model"))
    torch.manual_seed(1)
    config = LlamaConfig(vocab_size=len(vocabulary), hidden_size=32, intermediate_size=64, num_hidden_layers=2,
                         num_attention_heads=2, max_position_embeddings=64, bos_token_id=1, eos_token_id=1, pad_token_id=1)
    LlamaForCausalLM(config).save_pretrained(os.path.join(base, "model"))


if __name__ == "__main__":
    main(sys.argv[1])
