"""Record files on a disk that is full for a while."""

import pytest

from tests.failing_disk import failing
from weft.framework import errors, file_system
from weft.framework.record_file import RecordFile
from weft.framework.record_format import Records


def records_of(path):
    with file_system.open_file(path, "rb") as file:
        return list(Records(file))


@pytest.mark.parametrize("size", [10, 3000, 20000, 300000])
@pytest.mark.parametrize("changes", [0, 1, 2, 3, 4, 5, 7])
def test_a_record_without_room_is_left_out_and_others_follow(tmp_path, monkeypatch, size, changes):
    path = str(tmp_path / "records")
    records = [bytes([i]) * size for i in range(40)]
    written = []
    with failing(monkeypatch, changes + 1, full=True) as disk:
        file = RecordFile(path)
        for i, record in enumerate(records):
            if i == 30:
                disk.left = 1000  # there is room again
            try:
                file.write(record)
                written.append(record)
            except errors.ResourceExhaustedError as e:
                assert e.message == f"{path}; No space left on device"
        file.close()
    assert records_of(path) == written and len(written) >= 10


def test_what_does_not_find_room_at_the_end_is_told(tmp_path, monkeypatch):
    path = str(tmp_path / "records")
    with failing(monkeypatch, 1, full=True):
        file = RecordFile(path)
        file.write(b"abc")  # into the buffer
        with pytest.raises(errors.ResourceExhaustedError, match="records; No space left"):
            file.flush()
        with pytest.raises(errors.ResourceExhaustedError, match="records; No space left"):
            file.close()
