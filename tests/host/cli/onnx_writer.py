"""Writes small ONNX models and .npy files with nothing but the standard library."""
import struct

FLOAT, INT64, STRING = 1, 7, 8


def _varint(value):
    out = bytearray()
    while value > 0x7F:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    out.append(value)
    return bytes(out)


def _number(field, value):
    return _varint(field << 3) + _varint(value)


def _bytes(field, value):
    if isinstance(value, str):
        value = value.encode()
    return _varint(field << 3 | 2) + _varint(len(value)) + value


def value_info(name, extents, element=FLOAT):
    """A tensor of a graph's interface; a text among the extents is an open dimension."""
    dims = b"".join(_bytes(1, _bytes(2, e) if isinstance(e, str) else _number(1, e)) for e in extents)
    return _bytes(1, name) + _bytes(2, _bytes(1, _number(1, element) + _bytes(2, dims)))


def sequence_info(name, extents):
    """A sequence of 32-bit floats of one shape, as part of a graph's interface."""
    dims = b"".join(_bytes(1, _number(1, e)) for e in extents)
    return _bytes(1, name) + _bytes(2, _bytes(4, _bytes(1, _bytes(1, _number(1, FLOAT) + _bytes(2, dims)))))


def node(op, inputs, outputs, name=""):
    return (b"".join(_bytes(1, i) for i in inputs) + b"".join(_bytes(2, o) for o in outputs)
            + _bytes(3, name) + _bytes(4, op))


def tensor(name, shape, values):
    """A constant of 32-bit floats."""
    return (b"".join(_number(1, e) for e in shape) + _number(2, FLOAT) + _bytes(8, name)
            + _bytes(9, struct.pack(f"<{len(values)}f", *values)))


def model(nodes, inputs, outputs, opset=17, constants=()):
    graph = (b"".join(_bytes(1, n) for n in nodes) + _bytes(2, "test") + b"".join(_bytes(5, c) for c in constants)
             + b"".join(_bytes(11, i) for i in inputs)
             + b"".join(_bytes(12, o) for o in outputs))
    return _number(1, 8) + _bytes(7, graph) + _bytes(8, _bytes(1, "") + _number(2, opset))


def npy(values, shape, descr="<f4"):
    header = f"{{'descr': '{descr}', 'fortran_order': False, 'shape': {tuple(shape)!r}, }}\n".encode()
    code = {"<f4": "f", "<i8": "q"}[descr]
    return (b"\x93NUMPY\x01\x00" + struct.pack("<H", len(header)) + header
            + struct.pack(f"<{len(values)}{code}", *values))


def read_npy(data):
    """The float32 values of a version 1.0 file."""
    length = struct.unpack("<H", data[8:10])[0]
    body = data[10 + length:]
    return list(struct.unpack(f"<{len(body) // 4}f", body))
