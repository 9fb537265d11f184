"""Directories of tiny encoders with random weights, made by the transformers library."""

from __future__ import annotations

import json
import string
from pathlib import Path

import torch

WORDS = ["the", "film", "is", "not", "good", "plain", "dull", "do", "stop", "un", "##able"]


def write_bert(directory: Path, *, seed: int = 0, **options: int) -> Path:
    """A BERT with 8 features, two layers, and whole words or letters as pieces."""
    from transformers import BertConfig, BertModel, BertTokenizerFast

    directory.mkdir(parents=True)
    letters = list(string.ascii_lowercase + string.punctuation)
    pieces = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", *letters]
    pieces += [f"##{letter}" for letter in letters] + WORDS
    (directory / "vocab.txt").write_text("\n".join(pieces) + "\n", encoding="utf-8")
    vocab = {piece: number for number, piece in enumerate(pieces)}
    tokenizer = BertTokenizerFast(vocab=vocab, vocab_file=str(directory / "vocab.txt"))
    tokenizer.save_pretrained(directory)
    sizes = {
        "hidden_size": 8,
        "num_hidden_layers": 2,
        "num_attention_heads": 2,
        "intermediate_size": 16,
        "max_position_embeddings": 64,
        **options,
    }
    torch.manual_seed(seed)
    BertModel(BertConfig(vocab_size=len(pieces), **sizes)).save_pretrained(directory)
    return directory


def write_roberta(directory: Path) -> Path:
    """A RoBERTa: byte-level pieces that include the preceding space, and positions from 2."""
    from tokenizers.pre_tokenizers import ByteLevel
    from transformers import RobertaConfig, RobertaModel, RobertaTokenizerFast

    directory.mkdir(parents=True)
    merges = [("d", "o"), ("Ġ", "do"), ("n", "'")]
    special = ["<s>", "<pad>", "</s>", "<unk>", "<mask>"]
    pieces = [*special, *sorted(ByteLevel.alphabet()), *("".join(pair) for pair in merges)]
    vocab = {piece: number for number, piece in enumerate(pieces)}
    (directory / "vocab.json").write_text(json.dumps(vocab), encoding="utf-8")
    lines = ["#version: 0.2", *(" ".join(pair) for pair in merges)]
    (directory / "merges.txt").write_text("\n".join(lines) + "\n", encoding="utf-8")
    tokenizer = RobertaTokenizerFast(
        vocab=vocab,
        merges=merges,
        vocab_file=str(directory / "vocab.json"),
        merges_file=str(directory / "merges.txt"),
    )
    tokenizer.save_pretrained(directory)
    torch.manual_seed(0)
    config = RobertaConfig(
        vocab_size=len(pieces),
        hidden_size=8,
        num_hidden_layers=1,
        num_attention_heads=2,
        intermediate_size=16,
        max_position_embeddings=34,
        pad_token_id=1,
    )
    RobertaModel(config).save_pretrained(directory)
    return directory
