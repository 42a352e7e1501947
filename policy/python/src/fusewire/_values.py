"""Values of the component model, to and from wasmtime's memory.

A record is a ``dict`` with the contract's own names, an option is the value or ``None``, an enum
its name, a variant ``"case"`` or ``{"case": payload}``, a result ``{"ok": ..}`` or ``{"err": ..}``,
and a list of bytes is ``bytes``. So a value looks as it does in JSON, and nothing here knows any
record of the contract: the component's own types say what there is.

``wasmtime.component.Func`` does the same conversion, and asks wasmtime for the type of each field
at each value: a decision took 0.8 ms that way. Here the types are walked once, into one writer
and one reader for each, which pack and unpack the C structures of ``wasmtime/component/val.h``.
Their sizes and offsets are those that the wasmtime package itself declares, and are checked when
this module is imported.

Writing happens in an :class:`Arena` that wasmtime only reads from, so nothing is freed one by one.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Mapping
from ctypes import string_at
from struct import Struct
from typing import Any

from wasmtime import _ffi as ffi
from wasmtime import component as c

VAL_SIZE = ctypes.sizeof(ffi.wasmtime_component_val_t)
_OF = ffi.wasmtime_component_val_t.of.offset
_ENTRY_SIZE = ctypes.sizeof(ffi.wasmtime_component_valrecord_entry_t)
_ENTRY_VAL = ffi.wasmtime_component_valrecord_entry_t.val.offset

# The packing below is written for these; another version of wasmtime might differ.
if (VAL_SIZE, _OF, _ENTRY_SIZE, _ENTRY_VAL) != (32, 8, 48, 16):
    raise ImportError("fusewire does not know how this version of wasmtime lays out its values")

_BYTE = Struct("=B7xB")
_U8 = bytes([ffi.WASMTIME_COMPONENT_U8.value])
_SCALARS = {
    c.Bool: (ffi.WASMTIME_COMPONENT_BOOL.value, Struct("=B7x?")),
    c.S8: (ffi.WASMTIME_COMPONENT_S8.value, Struct("=B7xb")),
    c.U8: (ffi.WASMTIME_COMPONENT_U8.value, _BYTE),
    c.S16: (ffi.WASMTIME_COMPONENT_S16.value, Struct("=B7xh")),
    c.U16: (ffi.WASMTIME_COMPONENT_U16.value, Struct("=B7xH")),
    c.S32: (ffi.WASMTIME_COMPONENT_S32.value, Struct("=B7xi")),
    c.U32: (ffi.WASMTIME_COMPONENT_U32.value, Struct("=B7xI")),
    c.S64: (ffi.WASMTIME_COMPONENT_S64.value, Struct("=B7xq")),
    c.U64: (ffi.WASMTIME_COMPONENT_U64.value, Struct("=B7xQ")),
    c.F32: (ffi.WASMTIME_COMPONENT_F32.value, Struct("=B7xf")),
    c.F64: (ffi.WASMTIME_COMPONENT_F64.value, Struct("=B7xd")),
}
_STRING = ffi.WASMTIME_COMPONENT_STRING.value
_LIST = ffi.WASMTIME_COMPONENT_LIST.value
_RECORD = ffi.WASMTIME_COMPONENT_RECORD.value
_VARIANT = ffi.WASMTIME_COMPONENT_VARIANT.value
_ENUM = ffi.WASMTIME_COMPONENT_ENUM.value
_OPTION = ffi.WASMTIME_COMPONENT_OPTION.value
_RESULT = ffi.WASMTIME_COMPONENT_RESULT.value

_KIND_POINTER = Struct("=B7xQ")
_KIND_VEC = Struct("=B7xQQ")
_KIND_VARIANT = Struct("=B7xQQQ")
_KIND_RESULT = Struct("=B7x?7xQ")
_VEC = Struct("=QQ")
_POINTER = Struct("=Q")

Write = Callable[["Arena", int, Any], None]
Read = Callable[[bytes, int], Any]


class Full(Exception):
    """The arena is too small for what is written."""


class Arena:
    """Memory that a call's arguments, or an import's answer, are written into."""

    def __init__(self, size: int = 1 << 14) -> None:
        self._make(size)

    def _make(self, size: int) -> None:
        self._memory = (ctypes.c_char * size)()
        self.view = memoryview(self._memory).cast("B")
        self.base = ctypes.addressof(self._memory)
        self.size = size
        self.vals = ctypes.cast(self.base, ctypes.POINTER(ffi.wasmtime_component_val_t))
        """The values that were written last."""
        self._top = 0

    def take(self, size: int) -> int:
        """Where to write so many bytes; ``base`` and this is their address."""
        at = self._top
        self._top = at + (size + 7 & ~7)
        if self._top > self.size:
            raise Full
        return at

    def write(self, writers: list[Write], values: list[Any]) -> None:
        """Writes values, the first at the beginning, over what was there."""
        while True:
            try:
                self._top = len(values) * VAL_SIZE
                for i, (write, value) in enumerate(zip(writers, values, strict=True)):
                    write(self, i * VAL_SIZE, value)
                return
            except Full:
                self._make(self.size * 4)


class _Names:
    """Names of fields and cases as C strings, which live as long as the process."""

    _kept: dict[str, tuple[bytes, ctypes.Array[ctypes.c_char]]] = {}

    @classmethod
    def vec(cls, name: str) -> bytes:
        """The name's size and address."""
        if name not in cls._kept:
            text = name.encode()
            memory = ctypes.create_string_buffer(text)
            cls._kept[name] = (_VEC.pack(len(text), ctypes.addressof(memory)), memory)
        return cls._kept[name][0]


def writer(ty: Any) -> Write:
    """What writes values of this type."""
    if type(ty) in _SCALARS:
        return _scalar_writer(*_SCALARS[type(ty)])
    if isinstance(ty, c.String):
        return _write_string
    if isinstance(ty, c.ListType):
        return _write_bytes if isinstance(ty.element, c.U8) else _list_writer(writer(ty.element))
    if isinstance(ty, c.RecordType):
        return _record_writer(ty)
    if isinstance(ty, c.OptionType):
        return _option_writer(writer(ty.payload))
    if isinstance(ty, c.EnumType):
        return _enum_writer(ty)
    if isinstance(ty, c.VariantType):
        return _variant_writer(ty)
    if isinstance(ty, c.ResultType):
        return _result_writer(ty)
    raise TypeError(f"a value of the type {type(ty).__name__} is not supported")


def reader(ty: Any) -> Read:
    """What reads values of this type."""
    if type(ty) in _SCALARS:
        return _scalar_reader(_SCALARS[type(ty)][1])
    if isinstance(ty, c.String):
        return _read_string
    if isinstance(ty, c.ListType):
        return _read_bytes if isinstance(ty.element, c.U8) else _list_reader(reader(ty.element))
    if isinstance(ty, c.RecordType):
        return _record_reader(ty)
    if isinstance(ty, c.OptionType):
        return _option_reader(reader(ty.payload))
    if isinstance(ty, c.EnumType):
        return _read_string
    if isinstance(ty, c.VariantType):
        return _variant_reader(ty)
    if isinstance(ty, c.ResultType):
        return _result_reader(ty)
    raise TypeError(f"a value of the type {type(ty).__name__} is not supported")


def _scalar_writer(kind: int, struct: Struct) -> Write:
    pack_into = struct.pack_into

    def write(arena: Arena, at: int, value: Any) -> None:
        pack_into(arena.view, at, kind, value)

    return write


def _scalar_reader(struct: Struct) -> Read:
    unpack_from = struct.unpack_from
    return lambda block, at: unpack_from(block, at)[1]


def _write_string(arena: Arena, at: int, value: str) -> None:
    text = value.encode()
    size = len(text)
    to = arena.take(size)
    arena.view[to : to + size] = text
    _KIND_VEC.pack_into(arena.view, at, _STRING, size, arena.base + to)


def _read_string(block: bytes, at: int) -> str:
    size, address = _VEC.unpack_from(block, at + _OF)
    return string_at(address, size).decode() if size else ""


def _write_bytes(arena: Arena, at: int, value: Any) -> None:
    data = bytes(value)
    size = len(data) * VAL_SIZE
    to = arena.take(size)
    # A value each: its kind and the byte are all that is read of one.
    arena.view[to : to + size : VAL_SIZE] = _U8 * len(data)
    arena.view[to + _OF : to + size : VAL_SIZE] = data
    _KIND_VEC.pack_into(arena.view, at, _LIST, len(data), arena.base + to)


def _read_bytes(block: bytes, at: int) -> bytes:
    count, address = _VEC.unpack_from(block, at + _OF)
    return string_at(address, count * VAL_SIZE)[_OF::VAL_SIZE] if count else b""


def _list_writer(write_element: Write) -> Write:
    def write(arena: Arena, at: int, value: Any) -> None:
        to = arena.take(len(value) * VAL_SIZE)
        _KIND_VEC.pack_into(arena.view, at, _LIST, len(value), arena.base + to)
        for element in value:
            write_element(arena, to, element)
            to += VAL_SIZE

    return write


def _list_reader(read_element: Read) -> Read:
    def read(block: bytes, at: int) -> list[Any]:
        count, address = _VEC.unpack_from(block, at + _OF)
        if not count:
            return []
        elements = string_at(address, count * VAL_SIZE)
        return [read_element(elements, i * VAL_SIZE) for i in range(count)]

    return read


def _record_writer(ty: c.RecordType) -> Write:
    fields = [
        (i * _ENTRY_SIZE + _ENTRY_VAL, name, isinstance(field, c.OptionType), writer(field))
        for i, (name, field) in enumerate(ty.fields)
    ]
    names = {name for name, _ in ty.fields}
    blank = b"".join(_Names.vec(name).ljust(_ENTRY_SIZE, b"\0") for name, _ in ty.fields)
    size = len(blank)

    def write(arena: Arena, at: int, value: Mapping[str, Any]) -> None:
        if not names.issuperset(value):
            raise TypeError(f"unknown: {', '.join(sorted(set(value) - names))}; {_known(names)}")
        to = arena.take(size)
        arena.view[to : to + size] = blank
        _KIND_VEC.pack_into(arena.view, at, _RECORD, len(fields), arena.base + to)
        for offset, name, optional, write_field in fields:
            if name in value:
                try:
                    write_field(arena, to + offset, value[name])
                except Full:
                    raise
                except Exception as error:
                    raise TypeError(f"`{name}`: {error}") from error
            elif optional:
                _KIND_POINTER.pack_into(arena.view, to + offset, _OPTION, 0)
            else:
                raise TypeError(f"`{name}` is missing; {_known(names)}")

    return write


def _record_reader(ty: c.RecordType) -> Read:
    fields = [
        (name, reader(field), i * _ENTRY_SIZE + _ENTRY_VAL)
        for i, (name, field) in enumerate(ty.fields)
    ]
    size = len(fields) * _ENTRY_SIZE

    def read(block: bytes, at: int) -> dict[str, Any]:
        entries = string_at(_VEC.unpack_from(block, at + _OF)[1], size)
        return {name: read_field(entries, offset) for name, read_field, offset in fields}

    return read


def _option_writer(write_payload: Write) -> Write:
    def write(arena: Arena, at: int, value: Any) -> None:
        address = 0
        if value is not None:
            to = arena.take(VAL_SIZE)
            write_payload(arena, to, value)
            address = arena.base + to
        _KIND_POINTER.pack_into(arena.view, at, _OPTION, address)

    return write


def _option_reader(read_payload: Read) -> Read:
    def read(block: bytes, at: int) -> Any:
        (address,) = _POINTER.unpack_from(block, at + _OF)
        return read_payload(string_at(address, VAL_SIZE), 0) if address else None

    return read


def _enum_writer(ty: c.EnumType) -> Write:
    cases = {name: _VEC.unpack(_Names.vec(name)) for name in ty.names}

    def write(arena: Arena, at: int, value: str) -> None:
        if value not in cases:
            raise TypeError(f"{value!r} is not a case; {_known(cases)}")
        _KIND_VEC.pack_into(arena.view, at, _ENUM, *cases[value])

    return write


def _variant_writer(ty: c.VariantType) -> Write:
    cases = {
        name: (_VEC.unpack(_Names.vec(name)), writer(payload) if payload else None)
        for name, payload in ty.cases
    }

    def write(arena: Arena, at: int, value: Any) -> None:
        name, payload = _case(value)
        if name not in cases:
            raise TypeError(f"{name!r} is not a case; {_known(cases)}")
        discriminant, write_payload = cases[name]
        address = _write_payload(arena, write_payload, payload)
        _KIND_VARIANT.pack_into(arena.view, at, _VARIANT, *discriminant, address)

    return write


def _result_writer(ty: c.ResultType) -> Write:
    cases = {
        name: writer(payload) if payload else None
        for name, payload in (("ok", ty.ok), ("err", ty.err))
    }

    def write(arena: Arena, at: int, value: Any) -> None:
        name, payload = _case(value)
        if name not in cases:
            raise TypeError(f"{name!r} is not a case; {_known(cases)}")
        address = _write_payload(arena, cases[name], payload)
        _KIND_RESULT.pack_into(arena.view, at, _RESULT, name == "ok", address)

    return write


def _write_payload(arena: Arena, write: Write | None, payload: Any) -> int:
    if write is None:
        return 0
    to = arena.take(VAL_SIZE)
    write(arena, to, payload)
    return arena.base + to


def _variant_reader(ty: c.VariantType) -> Read:
    cases = {name: reader(payload) if payload else None for name, payload in ty.cases}

    def read(block: bytes, at: int) -> Any:
        name = _read_string(block, at)
        read_payload = cases[name]
        if read_payload is None:
            return name
        (address,) = _POINTER.unpack_from(block, at + _OF + _VEC.size)
        return {name: read_payload(string_at(address, VAL_SIZE), 0)}

    return read


def _result_reader(ty: c.ResultType) -> Read:
    ok, err = (reader(payload) if payload else None for payload in (ty.ok, ty.err))

    def read(block: bytes, at: int) -> Any:
        _, is_ok, address = _KIND_RESULT.unpack_from(block, at)
        read_payload = ok if is_ok else err
        payload = read_payload(string_at(address, VAL_SIZE), 0) if read_payload else None
        return {"ok" if is_ok else "err": payload}

    return read


def _case(value: Any) -> tuple[str, Any]:
    """The case and the payload of ``"case"`` or ``{"case": payload}``."""
    if isinstance(value, str):
        return value, None
    if isinstance(value, Mapping) and len(value) == 1:
        ((name, payload),) = value.items()
        return name, payload
    raise TypeError(f'{value!r} is not a variant, which is "case" or {{"case": payload}}')


def _known(names: Any) -> str:
    return f"known here: {', '.join(sorted(names))}"
