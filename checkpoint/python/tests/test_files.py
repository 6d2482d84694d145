"""The files of a save, one by one: what is written, summed, linked, flushed and read."""

import errno
import hashlib
import json
import os
import stat
import threading
import unittest
from unittest import mock

from .fixture import JobCase, write

from sluice import _files, _write


def sha(content):
    return hashlib.sha256(content).hexdigest()


def slurp(path):
    with open(path, "rb") as f:
        return f.read()


class After:
    """An event that is set from the look after so many on."""

    def __init__(self, looks):
        self.looks = looks

    def is_set(self):
        self.looks -= 1
        return self.looks < 0


class Pieces(JobCase):
    def setUp(self):
        super().setUp()
        for name, value in (("CHUNK", 10), ("PEEK", 4), ("WORTH_A_THREAD", 8)):
            patch = mock.patch.object(_write, name, value)
            patch.start()
            self.addCleanup(patch.stop)
        self.path = os.path.join(self.base, "piece")
        self.old = os.path.join(self.base, "old")

    def piece(self, *content, before=None, before_sum=""):
        return _write.Piece(self.path, [memoryview(c) for c in content], before, before_sum)

    def test_written(self):
        content = [b"0123456789abcdefghijKL", b"", b"xyz"]
        with mock.patch("os.fsync", wraps=os.fsync) as flushed:
            found, linked = _write.write_piece(self.piece(*content), threading.Event())
        whole = b"".join(content)
        self.assertEqual((found.size, found.sha256, linked, slurp(self.path)), (25, sha(whole), False, whole))
        self.assertEqual(flushed.call_count, 1)
        status = os.lstat(self.path)
        self.assertEqual((found.mark, stat.S_IMODE(status.st_mode)), ((status.st_ino, status.st_mtime_ns), 0o400))
        with self.assertRaises(FileExistsError):
            _write.write_piece(self.piece(b"other"), threading.Event())
        self.assertEqual(slurp(self.path), whole)

    def test_cancelled(self):
        """At any look, and no file is said to be written then."""
        content = b"0123456789" * 3
        write(self.old, content.decode())
        for before in (None, self.old):
            for looks in range(4):
                with self.subTest(before=before, looks=looks), self.assertRaises(_write.Cancelled):
                    _write.write_piece(self.piece(content, before=before, before_sum=sha(content)), After(looks))
                if os.path.exists(self.path):
                    os.unlink(self.path)

    def test_linked(self):
        content = b"0123456789abcdefghij"
        write(self.old, content.decode())
        found, linked = _write.write_piece(self.piece(content[:7], content[7:], before=self.old, before_sum=sha(content)), threading.Event())
        self.assertEqual((linked, found.size, found.sha256), (True, 20, sha(content)))
        self.assertEqual(os.stat(self.path).st_ino, os.stat(self.old).st_ino)
        self.assertEqual(found.mark, _write.mark(self.old))

    def test_not_linked(self):
        """What has changed is written, and mostly not even summed before."""
        content = b"0123456789abcdefghij"
        for what, old, summed in (
            ("its middle", b"0123456xxxabcdefghij", True), ("its beginning", b"x" + content[1:], False), ("its end", content[:-1] + b"x", False),
            ("shorter than the look", b"01", False), ("gone", None, False), ("as it is, on another file system", content, True),
        ):
            with self.subTest(what):
                if old is not None:
                    with open(self.old, "wb") as f:
                        f.write(old)
                with mock.patch.object(_write, "_link", wraps=_write._link) as link, mock.patch("os.link", side_effect=OSError(errno.EXDEV, "")):
                    found, linked = _write.write_piece(self.piece(content, before=self.old, before_sum=sha(old or b"")), threading.Event())
                self.assertEqual((linked, found.sha256, slurp(self.path), link.called), (False, sha(content), content, summed))
                os.unlink(self.path)
                if old is not None:
                    os.unlink(self.old)

    def test_many(self):
        """The largest first; each is noted."""
        write(self.old, "same content")
        pieces = [_write.Piece(os.path.join(self.base, n), [memoryview(c)], b, sha(b"same content"))
                  for n, c, b in (("a", b"1", None), ("b", b"same content", self.old), ("c", b"22", None))]
        noted, order = [], []
        real = _write.write_piece
        with mock.patch.object(_write, "write_piece", lambda p, stop: (order.append(os.path.basename(p.path)), real(p, stop))[1]):
            sums = _write.write_pieces(pieces, 1, note=lambda size, linked: noted.append((size, linked)))
        self.assertEqual((order, noted), (["b", "c", "a"], [(12, True), (2, False), (1, False)]))
        self.assertEqual({os.path.basename(p): s.size for p, s in sums.items()}, {"a": 1, "b": 12, "c": 2})
        stop = threading.Event()
        stop.set()
        with self.assertRaises(_write.Cancelled):
            _write.write_pieces(pieces, 2, stop)
        with self.assertRaises(FileExistsError):
            _write.write_pieces(pieces, 2)

    def test_every_byte(self):
        """A kernel that takes a few bytes at a time."""
        with open(self.path, "wb") as f, mock.patch("os.write", lambda file, content, real=os.write: real(file, content[:3])):
            _write.write_all(f.fileno(), memoryview(b"0123456789"))
        self.assertEqual(slurp(self.path), b"0123456789")

    def test_threads(self):
        """The processors are this process's (0), not those of another one."""
        for cores, training, alone in ((1, 1, 1), (2, 2, 2), (16, 2, 8)):
            with mock.patch("os.sched_getaffinity", side_effect=lambda process: range(cores if process == 0 else 64)):
                self.assertEqual((_write.threads_for(True), _write.threads_for(False)), (training, alone))

    def test_collect(self):
        entries = _write.collect({"b": _write.Sum(2, "x", (0, 0)), "a": _write.Sum(1, "y", (0, 0))})
        self.assertEqual(entries, [{"path": "a", "size": 1, "sha256": "y"}, {"path": "b", "size": 2, "sha256": "x"}])

    def test_summed(self):
        file = _write.Summed(self.path)
        content = [b"small", b"0123456789" * 7, b"", b"end"]  # some in this thread, some beside it
        self.assertEqual([file.write(c) for c in content], [5, 70, 0, 3])
        file.flush()
        with mock.patch("os.fsync", wraps=os.fsync) as flushed:
            found = file.close()
        whole = b"".join(content)
        self.assertEqual((found, slurp(self.path)), (_write.Sum(78, sha(whole), _write.mark(self.path)), whole))
        self.assertEqual(flushed.call_count, 1)
        self.assertTrue(file._file.closed)
        file.discard()
        self.assertIsNone(file._beside)

    def test_summed_fails(self):
        full = OSError(errno.ENOSPC, "full")
        for patient in (False, True):
            file = _write.Summed(self.path, patient=patient)
            with mock.patch.object(file, "_file", wraps=file._file) as disk:
                disk.write.side_effect = full
                if patient:
                    self.assertEqual([file.write(b"012"), file.write(b"0123456789")], [3, 10])
                    self.assertEqual(disk.write.call_count, 1)
                else:
                    for content in (b"012", b"0123456789"):
                        with self.assertRaises(OSError):
                            file.write(content)
                if patient:
                    with self.assertRaises(OSError):
                        file.close()
            file.discard()
            self.assertTrue(file._file.closed)
        stop = threading.Event()
        file = _write.Summed(self.path, stop=stop)
        self.assertEqual(file.write(b"012"), 3)
        stop.set()
        with self.assertRaises(_write.Cancelled):
            file.write(b"345")
        file.discard()


class Requests(JobCase):
    def look(self, content):
        with open(self.request, "w") as f:
            f.write(content if isinstance(content, str) else json.dumps(content))
        return _files.look_for_request(self.request), _files.look_for_end(self.request)

    def test_found(self):
        for content, want in (
            ({"request": "r1"}, (("r1", False), ("r1", False))), ({"request": "r1", "continue": True}, (("r1", True), ("r1", False))),
            ({"request": "r1", "end": True}, (("r1", False), ("r1", True))), ({"request": "r1", "end": 1, "continue": 1}, (("r1", False), ("r1", False))),
            ({"request": "r" * 100}, (("r" * 100, False), ("r" * 100, False))), ({"request": 7, "end": True}, (("", False), ("", False))),
            ({}, (("", False), ("", False))), ([], (("", False), ("", False))),
        ):
            self.assertEqual(self.look(content), want, content)
        self.assertEqual(_files.read_request(self.request), "")

    def test_not_one(self):
        for content in ("{", "[" * 60_000, {"request": ""}, {"request": "r" * 101}, {"request": "a b"}, {"request": ".r"}):
            with self.assertRaises(ValueError, msg=content):
                self.look(content)
        self.assertEqual(_files.look_for_request(os.path.join(self.base, "gone", "request.json")), ("", False))
        before = len(os.listdir("/proc/self/fd"))
        self.assertEqual(_files.read_request(os.path.join(self.base, "none")), "")
        self.assertEqual(len(os.listdir("/proc/self/fd")), before)


class Folder(JobCase):
    def setUp(self):
        super().setUp()
        self.path, self.number = _files.next_checkpoint(self.checkpoints, 0)

    def test_next(self):
        self.assertEqual((os.path.basename(self.path), self.number), ("00000001", 1))
        for folder in (self.path, self.checkpoints):
            self.assertEqual(stat.S_IMODE(os.stat(folder).st_mode), 0o700)
        self.assertEqual(_files.next_checkpoint(self.checkpoints, 0)[1], 2)
        self.assertEqual(_files.next_checkpoint(self.checkpoints, 6)[1], 7)
        os.mkdir(os.path.join(self.checkpoints, "000000099"))
        self.assertEqual(_files.next_checkpoint(self.checkpoints, 6)[1], 8)
        with mock.patch("os.listdir", return_value=[]):  # others' came since, and a network's view is old
            self.assertEqual(_files.next_checkpoint(self.checkpoints, 0)[1], 3)

    def test_read(self):
        self.assertEqual((_files.manifest_or_none(""), _files.manifest_or_none(self.path)), ({}, {}))
        for content, want in (('{"step": 3}', {"step": 3}), ("[]", {}), ("{", {}), ("[" * 60_000, {})):
            write(os.path.join(self.path, "manifest.json"), content)
            self.assertEqual(_files.manifest_or_none(self.path), want)
        c = _files.Checkpoint(self.path, {"step": 3, "epoch": 1.5, "sequence": 4, "gpus": 2, "metric": {"loss": 1}})
        self.assertEqual((c.step, c.epoch, c.sequence, c.gpus, c.metric), (3, 1.5, 4, 2, {"loss": 1}))
        self.assertEqual((os.fspath(c), str(c), str(c / "a")), (self.path, self.path, self.path + "/a"))
        self.assertIn("step=3, epoch=1.5", repr(c))
        c = _files.Checkpoint(self.path, {"metric": [1]})
        self.assertEqual((c.step, c.epoch, c.sequence, c.gpus, c.metric), (0, 0.0, 0, 0, {}))

    def test_sums(self):
        """Files that are what they were are not read again; the rest is, and every folder
        is flushed."""
        os.makedirs(os.path.join(self.path, "a", "b"))
        large = b"x" * (3 << 20)
        with open(os.path.join(self.path, "a", "b", "large"), "wb") as f:
            f.write(large)
        for name in ("same", "longer", "later", "replaced", "manifest.json", "z" + _files.TEMPORARY):
            write(os.path.join(self.path, name))
        known = {}
        for name in ("same", "longer", "later", "replaced"):
            full = os.path.join(self.path, name)
            known[full] = _write.Sum(7, "known " + name, _write.mark(full))
        write(os.path.join(self.path, "longer"), "weights.")
        os.utime(os.path.join(self.path, "longer"), ns=(0, known[os.path.join(self.path, "longer")].mark[1]))
        os.utime(os.path.join(self.path, "later"), ns=(0, 1))
        full = os.path.join(self.path, "replaced")
        write(full + "2")
        os.utime(full + "2", ns=(0, known[full].mark[1]))
        os.rename(full + "2", full)
        with mock.patch("os.fsync", wraps=os.fsync) as flushed, mock.patch.object(_files, "sync_directory", wraps=_files.sync_directory) as folders:
            found = {e["path"]: (e["size"], e["sha256"]) for e in _files.sum_files(self.path, known)}
        content = sha(b"weights")
        self.assertEqual(found, {"a/b/large": (len(large), sha(large)), "same": (7, "known same"), "longer": (8, sha(b"weights.")),
                                 "later": (7, content), "replaced": (7, content)})
        self.assertEqual(sorted(c.args[0] for c in folders.call_args_list), [self.path, self.path + "/a", self.path + "/a/b"])
        self.assertEqual(flushed.call_count, 4 + 3)
        os.unlink(full)
        os.mkfifo(full)
        with self.assertRaisesRegex(ValueError, "^replaced is not a plain file"):
            _files.sum_files(self.path, known)

    def test_left(self):
        """What one rank leaves the other takes, once."""
        full = os.path.join(self.path, "a")
        write(full)
        sums = {full: _write.Sum(7, "x", (1, 2))}
        _files.leave_sums(self.path, 3, sums)
        for number, content in enumerate(("{", "[]", '{"b": 1}', '{"b": [1, 2]}')):
            write(os.path.join(self.path, f".sums.{4 + number}.sluice-tmp"), content)
        write(os.path.join(self.path, ".sums.mine"))
        write(os.path.join(self.path, "x.sluice-tmp"))
        self.assertEqual(_files.gather_sums(self.path), sums)
        self.assertEqual(sorted(os.listdir(self.path)), [".sums.mine", "a", "x.sluice-tmp"])
        _files.leave_sums(os.path.join(self.base, "gone"), 3, sums)  # no harm

    def test_manifest(self):
        """It is flushed before it takes its place, and its name after."""
        did = []
        with mock.patch("os.fsync", side_effect=lambda f: did.append("flush")), mock.patch("os.rename", side_effect=lambda a, b, real=os.rename: (did.append("rename"), real(a, b))), \
                mock.patch.object(_files, "sync_directory", side_effect=did.append):
            _files.write_manifest(self.path, {"step": 3})
        self.assertEqual(did, ["flush", "rename", self.path, self.checkpoints])
        self.assertEqual((os.listdir(self.path), _files.read_manifest(self.path)), (["manifest.json"], {"step": 3}))
        with self.assertRaises(ValueError):
            _files.write_manifest(self.path, {"epoch": float("nan")})
        self.assertEqual(_files.read_manifest(self.path), {"step": 3})

    def test_flushed(self):
        before = len(os.listdir("/proc/self/fd"))
        for number, said in ((errno.EINVAL, False), (errno.ENOTSUP, False), (errno.EIO, True)):
            with mock.patch("os.fsync", side_effect=OSError(number, "")):
                if said:
                    with self.assertRaises(OSError):
                        _files.sync_directory(self.path)
                else:
                    _files.sync_directory(self.path)
        self.assertEqual(len(os.listdir("/proc/self/fd")), before)

    def test_earlier(self):
        self.assertIsNone(_files.earlier(self.path))
        for content in ("{", "{}", '{"files": [{"path": "a"}]}', '{"files": 1}', '{"files": [{"path": "a", "size": "x", "sha256": "y"}]}', "[" * 60_000):
            write(os.path.join(self.path, "manifest.json"), content)
            self.assertIsNone(_files.earlier(self.path), content)
        write(os.path.join(self.path, "manifest.json"), '{"files": [{"path": "a", "size": 3, "sha256": "y"}]}')
        self.assertEqual(_files.earlier(self.path), _write.Earlier(self.path, {"a": (3, "y")}))
        _files.discard(self.path)
        self.assertFalse(os.path.exists(self.path))
        _files.discard(self.path)

    def test_refused(self):
        self.assertFalse(_files.refused(self.folder))
        for content, want in (('{"answer": {"error": "bad"}}', True), ('{"answer": {"error": ""}}', False), ('{"answer": null}', False), ("{}", False), ("[]", False), ("{", False)):
            write(os.path.join(self.folder, "runner.json"), content)
            self.assertEqual(_files.refused(self.folder), want, content)

    def test_lines(self):
        self.addCleanup(os.umask, os.umask(0o022))  # of a job's own the runner makes it readable
        path = os.path.join(self.base, "log")
        _files.append_line(path, {"a": 1})
        with open(path, "a") as f:
            f.write('{"to')
        longest = {"a": "x" * (_files.MAX_LINE - len('{"a": ""}\n'))}
        _files.append_line(path, longest)
        self.assertEqual(slurp(path), b'{"a": 1}\n{"to\n' + json.dumps(longest).encode() + b"\n")
        self.assertEqual(stat.S_IMODE(os.stat(path).st_mode), 0o644)
        before = len(os.listdir("/proc/self/fd"))
        for entry in ({"a": longest["a"] + "x"}, {"a": float("inf")}):
            with self.assertRaises(ValueError):
                _files.append_line(path, entry)
        with mock.patch("os.write", side_effect=OSError(errno.ENOSPC, "")), self.assertRaises(OSError):
            _files.append_line(path, {})
        self.assertEqual(len(os.listdir("/proc/self/fd")), before)

    def test_whose_fault(self):
        safetensors = type("SafetensorError", (Exception,), {})
        for error, want in (
            (OSError(errno.ENOSPC, ""), True), (OSError(errno.EDQUOT, ""), True), (OSError(errno.EACCES, ""), False),
            (RuntimeError("PytorchStreamWriter failed"), True), (RuntimeError("inline_container.cc"), True), (RuntimeError("No space left"), True),
            (RuntimeError("shapes differ"), False), (safetensors("I/O error"), True), (safetensors("bad header"), False), (ValueError("I/O error"), False),
        ):
            self.assertEqual(_files.is_file_system(error), want, repr(error))

    def test_time(self):
        self.assertEqual(_files.timestamp(1e9), "2001-09-09T01:46:40Z")


if __name__ == "__main__":
    unittest.main()
