"""Random row-level deletes on a `World`, each kind as some engine writes it."""
from files import position_table, write_parquet, write_puffin
from oracle import Deletes, File
from iceberg_meta import Table, kind
from schemas import arrow_table, is_primitive, value_of
from world import World


def by_scope(entries):
    groups = {}
    for e in entries:
        groups.setdefault((e["spec_id"], repr(e["partition"])), []).append(e)
    return list(groups.values())


def some_positions(rng, entry):
    n = entry["record_count"]
    return rng.sample(range(n), rng.randint(1, n)) if rng.random() < 0.1 else rng.sample(range(n), rng.randint(1, max(1, n // 4)))


def position_deletes(world: World):
    """v2: one delete file per partition over one or several of its data files, or one per data file that names it."""
    rng, added = world.rng, []
    data = [e for e in world.live() if not e["content"]]
    groups = by_scope(data)
    for group in rng.sample(groups, min(len(groups), rng.randint(1, 3))):
        targets = rng.sample(group, rng.randint(1, len(group)))
        scoped = rng.random() < 0.4
        for names in [[t] for t in targets] if scoped else [targets]:
            pairs = [(t["file_path"], p) for t in names for p in some_positions(rng, t)]
            path = world.file("data", "-deletes.parquet")
            size = write_parquet(rng, path, position_table(pairs))
            added.append({"content": 1, "file_path": path, "file_format": "PARQUET", "spec_id": group[0]["spec_id"], "partition": group[0]["partition"],
                          "record_count": len(pairs), "file_size_in_bytes": size,
                          "referenced_data_file": names[0]["file_path"] if scoped and rng.random() < 0.5 else None})
    if added:
        world.commit("delete", added)


def deletion_vectors(world: World):
    """v3: vectors of several data files in one Puffin file; each takes in what older deletes by position removed."""
    rng, live = world.rng, world.live()
    data = [e for e in live if not e["content"] and e["record_count"]]
    if not data:
        return
    table = Table(world.metadata)
    old = Deletes(table, live)
    targets = rng.sample(data, rng.randint(1, min(4, len(data))))
    vectors = [(t["file_path"], sorted(set(some_positions(rng, t)) | old.dead_positions(t))) for t in targets]
    path = world.file("data", "-deletes.puffin")
    places, size = write_puffin(path, vectors)
    added = [{"content": 1, "file_path": path, "file_format": "PUFFIN", "spec_id": t["spec_id"], "partition": t["partition"], "record_count": len(positions),
              "file_size_in_bytes": size, "referenced_data_file": t["file_path"], "content_offset": offset, "content_size_in_bytes": length}
             for t, (_, positions), (offset, length) in zip(targets, vectors, places)]
    names = {t["file_path"] for t in targets}
    replaced = [(e["file_path"], e["content_offset"]) for e in live if kind(e) == "dvs" and e["referenced_data_file"] in names]
    world.commit("delete", added, replaced)


def leaf_fields(fields):
    """Primitive fields that an equality delete may name: on top, or within structs; as (path, field)."""
    for f in fields:
        if is_primitive(f["type"]):
            yield [f], f
        elif f["type"]["type"] == "struct":
            for path, leaf in leaf_fields(f["type"]["fields"]):
                yield [f] + path, leaf


def narrowed(path):
    """The column that holds just the leaf at the end of `path`."""
    top, *rest = path
    return top if not rest else dict(top, required=False, type={"type": "struct", "fields": [narrowed(rest)]})


def known_rows(world, entry):
    """Rows of a data file by the current schema's names; values of columns that the file lacks are None."""
    file = File(Table(world.metadata), entry["file_path"])
    return [{f["name"]: file.get(r, f["id"])[1] for f in world.fields if is_primitive(f["type"])} for r in file.rows]


def equality_deletes(world: World, upsert=False):
    """Deletes by one to three columns, in the scope of a live file's partition or of the whole table."""
    rng = world.rng
    data = [e for e in world.live() if not e["content"]]
    leaves = list(leaf_fields(world.fields))
    if not data or not leaves:
        return
    target = rng.choice(data)
    chosen = {path[0]["id"]: (path, leaf) for path, leaf in rng.sample(leaves, min(len(leaves), rng.choice([1, 1, 2, 3])))}
    columns = [narrowed(path) for path, _ in chosen.values()]
    scopes = [(target["spec_id"], target["partition"])]
    for spec in world.json["partition-specs"]:
        if all(f["transform"] == "void" for f in spec["fields"]):
            scopes.append((spec["spec-id"], {f["field-id"]: None for f in spec["fields"]}))
    spec_id, partition = rng.choice(scopes)
    known = known_rows(world, target)
    rows = [key_row(rng, columns, known) for _ in range(rng.randint(1, 6))]
    path = world.file("data", "-eq.parquet")
    size = write_parquet(rng, path, arrow_table(columns, rows))
    entry = {"content": 2, "file_path": path, "file_format": "PARQUET", "spec_id": spec_id, "partition": partition, "record_count": len(rows),
             "file_size_in_bytes": size, "equality_ids": [leaf["id"] for _, leaf in chosen.values()]}
    world.commit("overwrite" if upsert else "delete", [entry] + (world.data_entries() if upsert else []))


def key_row(rng, columns, known):
    """A key of an existing row most of the time, else any."""
    row = rng.choice(known) if known and rng.random() < 0.7 else {}
    found = {}
    for c in columns:
        value = row.get(c["name"]) if is_primitive(c["type"]) else None
        found[c["name"]] = value if value is not None or (not c["required"] and c["name"] in row) else value_of(rng, c["type"], c["required"])
    return found
