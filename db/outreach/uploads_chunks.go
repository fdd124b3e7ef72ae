package outreach

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"golang.org/x/text/unicode/norm"

	"github.com/mtlrent/conveyor/db"
	"github.com/mtlrent/conveyor/domain/contact"
	"github.com/mtlrent/conveyor/domain/fault"
)

const (
	sqlChunksAdd = `/* sqlChunksAdd */
INSERT INTO upload_chunks (tenant, upload, n, byte_offset, byte_length, first_row, first_line, lines, rows, created_at)
SELECT $1, $2, c.*, $10
FROM unnest($3::int[], $4::bigint[], $5::bigint[], $6::bigint[], $7::bigint[], $8::bigint[], $9::int[]) c
ON CONFLICT (upload, n) DO NOTHING`

	sqlUploadChunks = `/* sqlUploadChunks */
UPDATE uploads SET chunks = greatest(chunks, $3) WHERE tenant = $1 AND id = $2`
)

// AddChunks stores chunks of an upload that is being split; those that are there stay as they are. Chunks follow each
// other from 0 without gaps, else it is an error. An upload that is not being split is fault.Conflict.
func (s *Uploads) AddChunks(ctx context.Context, tenant string, id uuid.UUID, chunks []contact.Chunk,
	now time.Time) error {
	if len(chunks) == 0 {
		return nil
	}
	var (
		n, rows                            []int32
		offset, length, first, line, lines []int64
	)
	for i, c := range chunks {
		if i > 0 && c.N != chunks[i-1].N+1 {
			return fmt.Errorf("add chunks of upload %s: chunk %d follows chunk %d", id, c.N, chunks[i-1].N)
		}
		n, rows = append(n, int32(c.N)), append(rows, int32(c.Rows))
		offset, length = append(offset, c.Offset), append(length, c.Length)
		first, line, lines = append(first, c.FirstRow), append(line, c.FirstLine), append(lines, c.Lines)
	}
	err := db.TenantTx(ctx, s.pool, tenant, func(tx pgx.Tx) error {
		u, err := uploadHold(ctx, tx, tenant, id)
		switch {
		case err != nil:
			return err
		case chunks[0].N > u.Chunks:
			return fmt.Errorf("chunk %d is missing", u.Chunks)
		case u.State != UploadSplitting && int(n[len(n)-1]) >= u.Chunks:
			return fault.Newf(fault.Conflict, "it is %s", u.State)
		}
		b := new(pgx.Batch)
		b.Queue(sqlChunksAdd, tenant, id, n, offset, length, first, line, lines, rows, now)
		b.Queue(sqlUploadChunks, tenant, id, n[len(n)-1]+1)
		return tx.SendBatch(ctx, b).Close()
	})
	return uploadFault(err, "add chunks of", id)
}

const sqlChunkColumns = `n, byte_offset, byte_length, first_row, first_line, rows, lines`

const sqlChunkLast = `/* sqlChunkLast */
SELECT ` + sqlChunkColumns + ` FROM upload_chunks WHERE tenant = $1 AND upload = $2 ORDER BY n DESC LIMIT 1`

// LastChunk returns the last chunk that AddChunks has stored, to go on splitting after it; ok is false when there is
// none.
func (s *Uploads) LastChunk(ctx context.Context, tenant string, id uuid.UUID) (c contact.Chunk, ok bool, err error) {
	c, err = db.One(db.TenantRows(ctx, s.pool, tenant, pgx.RowToStructByPos[contact.Chunk], sqlChunkLast, tenant, id))
	if errors.Is(err, pgx.ErrNoRows) {
		return c, false, nil
	}
	return c, err == nil, uploadFault(err, "find last chunk of", id)
}

const sqlChunksPending = `/* sqlChunksPending */
SELECT ` + sqlChunkColumns + ` FROM upload_chunks
WHERE tenant = $1 AND upload = $2 AND n >= $3 AND state = 'pending' ORDER BY n LIMIT $4`

// Pending returns up to most chunks, from number from on, that are to be parsed, in the order of the file. It claims
// nothing: the workflow of the upload hands them out.
func (s *Uploads) Pending(ctx context.Context, tenant string, id uuid.UUID, from, most int) ([]contact.Chunk, error) {
	list, err := db.TenantRows(ctx, s.pool, tenant, pgx.RowToStructByPos[contact.Chunk], sqlChunksPending, tenant, id,
		from, most)
	return list, uploadFault(err, "find chunks to parse of", id)
}

const sqlChunksParsed = `/* sqlChunksParsed */
UPDATE upload_chunks SET state = 'parsed', parsed_at = $4
WHERE tenant = $1 AND upload = $2 AND n = ANY ($3) AND state = 'pending'`

// Parsed notes that the rows of chunks are in the blob store. Repeated, and for chunks that are further or whose upload
// is over, it changes nothing.
func (s *Uploads) Parsed(ctx context.Context, tenant string, id uuid.UUID, numbers []int, now time.Time) error {
	b := new(pgx.Batch)
	b.Queue(sqlChunksParsed, tenant, id, numbers, now)
	return uploadFault(db.TenantWrite(ctx, s.pool, tenant, b), "note parsed chunks of", id)
}

const sqlChunkReading = `/* sqlChunkReading */
UPDATE upload_chunks SET readings = readings + 1 WHERE tenant = $1 AND upload = $2 AND n = $3 RETURNING readings`

// BeginChunk counts a reading of a chunk that begins, and returns how many have begun in a row and not ended, this one
// included. A chunk of an unknown upload is fault.Gone.
func (s *Uploads) BeginChunk(ctx context.Context, tenant string, id uuid.UUID, n int) (begun int, err error) {
	begun, err = db.One(db.TenantRows(ctx, s.pool, tenant, pgx.RowTo[int], sqlChunkReading, tenant, id, n))
	return begun, uploadFault(err, "begin to read a chunk of", id)
}

const sqlChunkReadingEnd = `/* sqlChunkReadingEnd */
UPDATE upload_chunks SET readings = 0 WHERE tenant = $1 AND upload = $2 AND n = $3`

// EndChunk says that the reader of a chunk lives. It may be repeated.
func (s *Uploads) EndChunk(ctx context.Context, tenant string, id uuid.UUID, n int) error {
	b := new(pgx.Batch)
	b.Queue(sqlChunkReadingEnd, tenant, id, n)
	err := db.TenantWrite(ctx, s.pool, tenant, b)
	return uploadFault(err, "end reading of a chunk of", id)
}

// Chunks are stored in their order, so the first one that is not stored is the number of those that are.
const sqlChunksReady = `/* sqlChunksReady */
SELECT c.n, c.byte_offset, c.byte_length, c.first_row, c.first_line, c.rows, c.lines
FROM upload_chunks c JOIN uploads u ON u.id = c.upload AND u.tenant = c.tenant
WHERE c.tenant = $1 AND c.upload = $2 AND c.n >= u.stored AND c.n < u.stored + $3
    AND u.state IN ('splitting', 'running') AND c.state = 'parsed'
ORDER BY c.n`

// Ready returns the chunks that Persist takes next: up to most that are parsed, from the first one that is not stored,
// without a gap. Empty means that the next one is not parsed yet, or that the upload is over.
func (s *Uploads) Ready(ctx context.Context, tenant string, id uuid.UUID, most int) ([]contact.Chunk, error) {
	u, err := s.Get(ctx, tenant, id)
	if err != nil {
		return nil, err
	}
	list, err := db.TenantRows(ctx, s.pool, tenant, pgx.RowToStructByPos[contact.Chunk], sqlChunksReady, tenant, id, most)
	for i, c := range list {
		if c.N != list[0].N+i || list[0].N > u.Stored && i == 0 {
			list = list[:i]
			break
		}
	}
	return list, uploadFault(err, "find parsed chunks of", id)
}

// The codes of the reasons that only the store finds.
const (
	CodeKnown = "contact_known" // KnownFail, and the contact is there
	CodeQuota = "quota"         // the tenant may not have more contacts
)

// counts are what became of the rows of a chunk.
type counts struct {
	Rows, Valid, Invalid, Duplicate, New, Updated, Skipped int32
}

// a row of a chunk that is stored, by its place in it.
type placed struct{ chunk, row int }

const (
	// The commit need not be on the disk: a chunk that is lost with the machine is not stored, and is stored again. Finish
	// waits for the disk, and so for every commit before it.
	sqlPersistPlan = `/* sqlPersistPlan */ SELECT set_config('synchronous_commit', 'off', true)`

	sqlChunksHold = `/* sqlChunksHold */
SELECT n, rows, state, reserved FROM upload_chunks WHERE tenant = $1 AND upload = $2 AND n = ANY ($3)
ORDER BY n FOR UPDATE`

	sqlTenantRoom = `/* sqlTenantRoom */
SELECT max_contacts - contacts FROM tenants WHERE id = $1 AND max_contacts - contacts < $2 FOR NO KEY UPDATE`

	sqlTenantContacts = `/* sqlTenantContacts */ UPDATE tenants SET contacts = contacts + $2 WHERE id = $1`

	sqlUploadErrorsAdd = `/* sqlUploadErrorsAdd */
INSERT INTO upload_errors (tenant, upload, row, line, problems, record, persons)
SELECT $1, $2, e.row, e.line, e.problems, e.record, coalesce(e.persons, '{}')
FROM json_to_recordset($3) AS e(row bigint, line bigint, problems jsonb, record text[], persons uuid[])`

	sqlChunksStored = `/* sqlChunksStored */
UPDATE upload_chunks c SET state = 'stored', stored_at = $11, valid = d.valid, invalid = d.invalid,
    duplicate = d.duplicate, new = d.new, updated = d.updated, skipped = d.skipped
FROM unnest($3::int[], $4::int[], $5::int[], $6::int[], $7::int[], $8::int[], $9::int[], $10::int[])
    AS d(n, rows, valid, invalid, duplicate, new, updated, skipped)
WHERE c.tenant = $1 AND c.upload = $2 AND c.n = d.n AND c.rows = d.rows`

	sqlUploadStored = `/* sqlUploadStored */
UPDATE uploads SET stored = stored + $3, rows_read = rows_read + $4, valid = valid + $5, invalid = invalid + $6,
    duplicate = duplicate + $7, new = new + $8, updated = updated + $9, skipped = skipped + $10,
    unlisted = unlisted + $11, refused_bytes = refused_bytes + $12
WHERE tenant = $1 AND id = $2`
)

const (
	sqlChunkMayReserve = `/* sqlChunkMayReserve */
SELECT u.state, $3 = 0 OR EXISTS (SELECT FROM upload_chunks c
    WHERE c.tenant = $1 AND c.upload = $2 AND c.n = $3 - 1 AND (c.reserved OR c.state = 'stored'))
FROM uploads u WHERE u.tenant = $1 AND u.id = $2`

	// Of the keys of several rows, those that the file has for the first time, in chunks that may have reserved before.
	sqlUploadKeysAdd = `/* sqlUploadKeysAdd */
INSERT INTO upload_keys AS k (tenant, upload, key, chunk)
SELECT $1, $2, d.* FROM unnest($3::uuid[], $4::int[]) d
ON CONFLICT (upload, key) DO UPDATE SET chunk = k.chunk WHERE k.chunk = excluded.chunk RETURNING key`

	sqlChunksReserve = `/* sqlChunksReserve */
UPDATE upload_chunks SET reserved = true WHERE tenant = $1 AND upload = $2 AND n = ANY ($3) AND NOT reserved`
)

// Reserve finds out which rows of chunks are the first of their key in the file, and notes it in the chunks: what
// Persist otherwise does itself, and for a fifth of its time. It may be called while the chunks before are being
// stored, once they have reserved; chunks follow each other without a gap, else it is fault.Conflict. It may be
// repeated. For an upload that is over it does nothing.
func (s *Uploads) Reserve(ctx context.Context, tenant string, id uuid.UUID, chunks []contact.ParsedChunk) error {
	if len(chunks) == 0 {
		return nil
	}
	err := db.TenantTx(ctx, s.pool, tenant, func(tx pgx.Tx) error {
		var state UploadState
		var may bool
		if err := tx.QueryRow(ctx, sqlChunkMayReserve, tenant, id, chunks[0].N).Scan(&state, &may); err != nil {
			return err
		}
		for i, c := range chunks {
			may = may && c.N == chunks[0].N+i
		}
		switch {
		case !state.Open():
			return nil
		case !may:
			return fault.Newf(fault.Conflict, "chunk %d is not next to one that has reserved", chunks[0].N)
		}
		if _, err := tx.Exec(ctx, sqlPersistPlan); err != nil {
			return err
		}
		return reserve(ctx, tx, tenant, id, chunks)
	})
	return uploadFault(err, "reserve keys of", id)
}

// reserve sets First of chunks, of which the ones before have reserved.
func reserve(ctx context.Context, tx pgx.Tx, tenant string, id uuid.UUID, chunks []contact.ParsedChunk) error {
	first := map[uuid.UUID]placed{}
	var numbers []int32
	for i := range chunks {
		c := &chunks[i]
		c.First = make([]bool, len(c.Rows))
		numbers = append(numbers, int32(c.N))
		for j, r := range c.Rows {
			if !r.Valid() {
				continue
			}
			key := uuid.UUID(contact.Digest(tenant, r.Contact.Key))
			if _, twice := first[key]; !twice {
				first[key] = placed{i, j}
			}
		}
	}
	// In the order of the index: it touches fewer of its pages, and two callers do not wait for each other in a circle.
	keys := slices.SortedFunc(maps.Keys(first), func(a, b uuid.UUID) int { return bytes.Compare(a[:], b[:]) })
	owners := make([]int32, len(keys))
	for i, key := range keys {
		owners[i] = int32(chunks[first[key].chunk].N)
	}
	rows, _ := tx.Query(ctx, sqlUploadKeysAdd, tenant, id, keys, owners)
	var key uuid.UUID
	_, err := pgx.ForEachRow(rows, []any{&key}, func() error {
		at := first[key]
		chunks[at.chunk].First[at.row] = true
		return nil
	})
	if err != nil {
		return err
	}
	_, err = tx.Exec(ctx, sqlChunksReserve, tenant, id, numbers)
	return err
}

// Persist stores the rows of chunks as contacts: contacts, members of lists, reasons of refused rows, counts and the
// state of the chunks, in one transaction. Chunks that are stored already are skipped, so a repeat has no second
// effect; the others must follow the stored ones without a gap, because the first row of a key in the file is the one
// that counts, else it is fault.Transient: those before may have been stored, and be lost by a crash of Postgres. When
// the upload is over it is fault.Conflict. Two calls for one upload take turns. Of a dry run only counts and reasons
// are stored. Rows that are not all of a chunk's are fault.Invalid.
func (s *Uploads) Persist(ctx context.Context, tenant string, id uuid.UUID, chunks []contact.ParsedChunk,
	now time.Time) error {
	chunks = slices.SortedFunc(slices.Values(chunks), func(a, b contact.ParsedChunk) int { return cmp.Compare(a.N, b.N) })
	err := db.TenantTx(ctx, s.pool, tenant, func(tx pgx.Tx) error {
		u, err := uploadHold(ctx, tx, tenant, id)
		switch {
		case u.State == UploadDone: // all of it is stored
			return nil
		case err != nil:
			return err
		}
		todo, err := chunksHold(ctx, tx, u, chunks)
		if err != nil || len(todo) == 0 {
			return err
		}
		if _, err := tx.Exec(ctx, sqlPersistPlan); err != nil {
			return err
		}
		if slices.ContainsFunc(todo, func(c contact.ParsedChunk) bool { return len(c.First) != len(c.Rows) }) {
			if err := reserve(ctx, tx, tenant, id, todo); err != nil {
				return err
			}
		}
		p := persisting{tx: tx, upload: u, chunks: todo, counts: make([]counts, len(todo)), now: now}
		return p.run(ctx)
	})
	return uploadFault(err, "store chunks of", id)
}

// chunksHold locks chunks and returns those that are not stored.
func chunksHold(ctx context.Context, tx pgx.Tx, u Upload, chunks []contact.ParsedChunk) ([]contact.ParsedChunk, error) {
	numbers := make([]int32, len(chunks))
	for i, c := range chunks {
		numbers[i] = int32(c.N)
	}
	type row struct {
		N, Rows  int
		State    string
		Reserved bool
	}
	held, err := db.Rows(ctx, tx, pgx.RowToStructByPos[row], sqlChunksHold, u.Tenant, u.ID, numbers)
	if err != nil {
		return nil, err
	}
	if len(held) != len(chunks) {
		return nil, fault.Newf(fault.Gone, "%d of %d chunks are not there, or twice", len(chunks)-len(held), len(chunks))
	}
	var todo []contact.ParsedChunk
	for i, h := range held {
		switch {
		case h.State == "stored":
		case h.N != u.Stored+len(todo):
			return nil, fault.Newf(fault.Transient, "chunk %d comes before chunk %d", h.N, u.Stored+len(todo))
		case h.Rows != len(chunks[i].Rows):
			return nil, fault.Newf(fault.Invalid, "chunk %d has %d rows, expected %d", h.N, len(chunks[i].Rows), h.Rows)
		default:
			if !h.Reserved { // or not any more: a crash of Postgres may have taken that back
				chunks[i].First = nil
			}
			todo = append(todo, chunks[i])
		}
	}
	return todo, nil
}

// persisting is the transaction of Persist.
type persisting struct {
	tx     pgx.Tx
	upload Upload
	chunks []contact.ParsedChunk
	counts []counts
	errors []errorRow
	now    time.Time
}

func (p *persisting) run(ctx context.Context) error {
	valid, contacts := p.unique()
	u := p.upload
	stored := int64(0) // by what the room is less than it would be
	if u.DryRun {
		stored = u.New
	}
	room, err := tenantRoom(ctx, p.tx, u.Tenant, stored)
	if err != nil {
		return err
	}
	done, err := contactsWrite(ctx, p.tx, u.Tenant, u.Known, contacts, u.ID, room, u.DryRun, p.now)
	if err != nil {
		return err
	}
	var members []int64
	var added int64
	for i, d := range done {
		at, n := valid[i], &p.counts[valid[i].chunk]
		switch {
		case d.Was == writtenOver:
			p.refuse(at, contact.Problem{Code: CodeQuota, Message: "The account may not have more contacts. Delete some, " +
				"or ask for a higher limit."})
			continue
		case d.Was == writtenKnown && u.Known == KnownFail:
			p.refuse(at, contact.Problem{Code: CodeKnown, Message: "The contact is there already, and the upload says that " +
				"known contacts are refused."})
			continue
		case d.Was == writtenNew:
			n.New++
			added++
		case d.Was == writtenUpdated:
			n.Updated++
		default:
			n.Skipped++
		}
		n.Valid++
		members = append(members, d.ID)
	}
	if !u.DryRun {
		slices.Sort(members)
		if err := membersAdd(ctx, p.tx, u.Tenant, u.Lists, members); err != nil {
			return err
		}
	}
	return p.count(ctx, added)
}

// unique returns the contacts of the rows that are the first of their key in the file, and where they stand. The others
// are counted.
func (p *persisting) unique() (places []placed, contacts []contact.Contact) {
	for i, c := range p.chunks {
		n := &p.counts[i]
		n.Rows = int32(len(c.Rows))
		for j, r := range c.Rows {
			switch {
			case !r.Valid():
				n.Invalid++
				p.report(r, r.Problems...)
			case !c.First[j]:
				n.Duplicate++
			default:
				places, contacts = append(places, placed{i, j}), append(contacts, p.tagged(r.Contact))
			}
		}
	}
	return places, contacts
}

// tagged is a contact with the tags that all of the upload get.
func (p *persisting) tagged(c contact.Contact) contact.Contact {
	for _, tag := range p.upload.Tags {
		if tag = norm.NFC.String(tag); !slices.Contains(c.Tags, tag) {
			c.Tags = append(slices.Clip(c.Tags), tag)
		}
	}
	return c
}

// refuse counts a row that domain/contact found valid as invalid.
func (p *persisting) refuse(at placed, why contact.Problem) {
	p.counts[at.chunk].Invalid++
	p.report(p.chunks[at.chunk].Rows[at.row], why)
}

// digests are those of keys.
func digests(tenant string, keys []string) (out []uuid.UUID) {
	for _, key := range keys {
		out = append(out, contact.Digest(tenant, key))
	}
	return out
}

// report keeps why a row is refused. Cells may hold what Postgres does not take.
func (p *persisting) report(r contact.Row, problems ...contact.Problem) {
	e := errorRow{Row: r.Number, Line: r.Line, Record: make([]string, len(r.Record))}
	for _, why := range problems {
		why.Field, why.Message = db.Storable(why.Field), db.Storable(why.Message)
		e.Problems = append(e.Problems, why)
	}
	for i, cell := range r.Record {
		e.Record[i] = db.Storable(cell)
	}
	e.Persons = digests(p.upload.Tenant, r.Persons())
	p.errors = append(p.errors, e)
}

// count stores reasons, counts and states. The row of the tenant is the last, for other uploads wait for it.
func (p *persisting) count(ctx context.Context, added int64) error {
	var numbers []int32
	columns := make([][]int32, 7)
	var sum counts
	for i, n := range p.counts {
		numbers = append(numbers, int32(p.chunks[i].N))
		for k, v := range []int32{n.Rows, n.Valid, n.Invalid, n.Duplicate, n.New, n.Updated, n.Skipped} {
			columns[k] = append(columns[k], v)
		}
		sum.Rows, sum.Valid, sum.Invalid = sum.Rows+n.Rows, sum.Valid+n.Valid, sum.Invalid+n.Invalid
		sum.Duplicate, sum.New, sum.Updated = sum.Duplicate+n.Duplicate, sum.New+n.New, sum.Updated+n.Updated
		sum.Skipped += n.Skipped
	}
	listed, bytes, err := p.listed(ctx)
	if err != nil {
		return err
	}
	u, b := p.upload, new(pgx.Batch)
	if len(listed) > 0 {
		b.Queue(sqlUploadErrorsAdd, u.Tenant, u.ID, listed)
	}
	b.Queue(sqlChunksStored, u.Tenant, u.ID, numbers, columns[0], columns[1], columns[2], columns[3], columns[4],
		columns[5], columns[6], p.now)
	b.Queue(sqlUploadStored, u.Tenant, u.ID, len(numbers), sum.Rows, sum.Valid, sum.Invalid, sum.Duplicate, sum.New,
		sum.Updated, sum.Skipped, len(p.errors)-len(listed), bytes)
	if added > 0 && !u.DryRun {
		b.Queue(sqlTenantContacts, u.Tenant, added)
	}
	return db.Refused(p.tx.SendBatch(ctx, b).Close())
}

// A Backlog is what waits to be imported, and how fast it becomes less.
type Backlog struct {
	Chunks int           // that are not stored, with those that files which were not looked at yet may have
	Rows   int64         // of those that were found
	Oldest time.Duration // since the oldest of them was found, or such a file received; 0 when there is none
	Rate   float64       // chunks stored a second, lately
}

// Wait is how long a backlog takes to fall to low chunks at its rate; at least a second, and a minute when nothing
// moves.
func (b Backlog) Wait(low int) time.Duration {
	if b.Rate <= 0 {
		return time.Minute
	}
	seconds := float64(b.Chunks-low) / b.Rate
	return max(time.Second, time.Duration(seconds*float64(time.Second)))
}

// rateWindow is how far back the rate of a Backlog looks.
const rateWindow = time.Minute

// chunkBytes is about what 1,000 rows have: it counts the chunks of files that were not looked at yet, so that files
// that nothing reads, for Temporal or all workers are away, are a backlog too.
const chunkBytes = 100_000

// ChunksOf is about how many chunks a file of so many bytes has.
func ChunksOf(bytes int64) int { return int(1 + bytes/chunkBytes) }

const sqlChunksBacklog = `/* sqlChunksBacklog */
SELECT coalesce(sum(n) FILTER (WHERE tenant = $1), 0)::bigint,
    coalesce(sum(rows) FILTER (WHERE tenant = $1), 0)::bigint, min(at) FILTER (WHERE tenant = $1),
    coalesce(sum(n), 0)::bigint, coalesce(sum(rows), 0)::bigint, min(at),
    (SELECT count(*) FROM upload_chunks WHERE state = 'stored' AND stored_at > $2 AND stored_at <= $3 AND tenant = $1),
    (SELECT count(*) FROM upload_chunks WHERE state = 'stored' AND stored_at > $2 AND stored_at <= $3)
FROM (
    SELECT tenant, count(*) AS n, sum(rows) AS rows, min(created_at) AS at
    FROM upload_chunks WHERE state IN ('pending', 'parsed') GROUP BY tenant
    UNION ALL SELECT tenant, 1 + bytes / $4, 0, received_at FROM uploads
    WHERE state = 'received' AND chunks = 0
) waiting`

// Backlog returns what waits of a tenant, and of all tenants together: the signals of the brake on uploads.
func (s *Uploads) Backlog(ctx context.Context, tenant string, now time.Time) (own, all Backlog, err error) {
	type row struct {
		Own       int
		OwnRows   int64
		OwnOldest *time.Time
		All       int
		AllRows   int64
		AllOldest *time.Time
		OwnDone   int
		AllDone   int
	}
	r, err := db.One(db.SystemRows(ctx, s.pool, pgx.RowToStructByPos[row], sqlChunksBacklog, tenant,
		now.Add(-rateWindow), now, chunkBytes))
	if err != nil {
		return own, all, fmt.Errorf("count waiting chunks: %w", err)
	}
	age := func(at *time.Time) time.Duration {
		if at == nil {
			return 0
		}
		return max(0, now.Sub(*at))
	}
	own = Backlog{r.Own, r.OwnRows, age(r.OwnOldest), float64(r.OwnDone) / rateWindow.Seconds()}
	all = Backlog{r.All, r.AllRows, age(r.AllOldest), float64(r.AllDone) / rateWindow.Seconds()}
	return own, all, nil
}

const sqlUploadRate = `/* sqlUploadRate */
SELECT coalesce(sum(rows), 0) FROM upload_chunks
WHERE tenant = $1 AND upload = $2 AND state = 'stored' AND stored_at > $3`

// Rate is how many rows of an upload were stored a second in the last seconds of its run, for its progress.
func (s *Uploads) Rate(ctx context.Context, u Upload, now time.Time) (float64, error) {
	if u.StartedAt == nil || !u.State.Open() {
		return 0, nil
	}
	since := now.Add(-rateWindow / 4)
	if u.StartedAt.After(since) {
		since = *u.StartedAt
	}
	rows, err := db.One(db.TenantRows(ctx, s.pool, u.Tenant, pgx.RowTo[int64], sqlUploadRate, u.Tenant, u.ID, since))
	if err != nil || !now.After(since) {
		return 0, uploadFault(err, "measure", u.ID)
	}
	return float64(rows) / now.Sub(since).Seconds(), nil
}
