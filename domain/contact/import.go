package contact

import (
	"github.com/google/uuid"

	"github.com/mtlrent/conveyor/domain/fault"
)

// ImportWorkflowID is the ID of the workflow that imports an upload.
func ImportWorkflowID(upload uuid.UUID) string { return "import/" + upload.String() }

// mostReaders is how many processes in a row may end while they read a file, before it is refused.
const mostReaders = 3

// CheckReadings is fault.Invalid where so many readings of a file have begun in a row, the one that is to begin
// included, that the processes which made the others must have ended by it.
func CheckReadings(begun int) error {
	if begun <= mostReaders {
		return nil
	}
	return fault.Newf(fault.Invalid, "the last %d workers that read the file ended meanwhile: it takes more memory or time "+
		"than there is. Save the table as CSV, or split the file", mostReaders)
}

// CheckChunk is as CheckReadings for a part of a file: it is noted once a worker has ended with it among others.
func CheckChunk(c Chunk, begun int) error {
	if begun < mostReaders {
		return nil
	}
	return fault.Newf(fault.Invalid, "the last %d workers that read the rows from line %d on ended meanwhile: they take more "+
		"memory or time than there is. Look at what is there, or leave it out", mostReaders, c.FirstLine)
}

// mostPreviews is how many previews of a file may be at it at once, in all processes together.
const mostPreviews = 8

// CheckPreviews is as CheckReadings for a preview that is to begin: so many have begun in a row and died, and so many
// are open, it included: fault.Conflict where those are too many. A file that ends each process at once would end many
// before the first of them is known to have died.
func CheckPreviews(begun, open int) error {
	if err := CheckReadings(begun); err != nil || open <= mostPreviews {
		return err
	}
	return fault.Newf(fault.Conflict, "%d previews of the file have begun and not ended: the processes that read it may "+
		"have ended meanwhile. Try again in a minute", open-1)
}

// ErrRoom is the error of a copy that has more bytes than its Import's Room.
var ErrRoom = fault.Newf(fault.Invalid, "the unpacked file has more bytes than the tenant's quota max_bytes leaves; "+
	"wait until older files are no longer kept, or have the quota raised")

// An Import is an uploaded file as the import sees it.
type Import struct {
	Progress
	Tenant  string
	ID      uuid.UUID
	File    string // key in the blob store
	Copy    string // key of its decoded copy; empty = the text is the file itself
	Bytes   int64
	Options Options
	Plan    *Plan  // nil until it was looked at
	Room    *int64 // bytes that its copy may have, while there is no plan; nil = any number
	Left    *int64 // contacts that its tenant may add then; below 0 = it has too many, nil = any number
	Records bool   // known contacts are refused, so the cells of valid rows are kept too
}

// What a file may have at most, about, to know whether its tenant may have so many contacts.
const (
	leastRow = 10 // bytes of a row: a number and a line end
	unpacked = 20 // bytes of text for one of a file that is not text
)

// Keeps says whether the cells of valid rows are kept, because the store may refuse them: known contacts, or those for
// which there is no room. That is guessed from the size of the file: the errors of such a row have no cells otherwise.
func (i Import) Keeps(p Plan) bool {
	rows := i.Bytes / leastRow
	if p.Format.Container != Plain {
		rows *= unpacked
	}
	return i.Records || i.Left != nil && *i.Left < min(rows+1, MaxRows)
}

// Text is the key of what its chunks are ranges of.
func (i Import) Text() string {
	if i.Copy != "" {
		return i.Copy
	}
	return i.File
}

// Progress is how far an import is. Rows = Valid + Invalid + Duplicate, and Valid = New + Updated + Skipped.
type Progress struct {
	State  string `json:"state"` // received, splitting, running, done, failed, canceled
	Error  string `json:"error,omitempty"`
	Chunks int    `json:"chunks"`
	Stored int    `json:"stored"` // chunks

	Rows      int64 `json:"rows"` // that are read and stored, or refused
	Valid     int64 `json:"valid"`
	Invalid   int64 `json:"invalid"`
	Duplicate int64 `json:"duplicate"` // of a row before it in the file
	New       int64 `json:"new"`
	Updated   int64 `json:"updated"`
	Skipped   int64 `json:"skipped"`
}

// Open says that the import goes on.
func (p Progress) Open() bool { return p.State == "received" || p.State == "splitting" || p.Split() }

// Split says that all chunks are found, and not all of them stored.
func (p Progress) Split() bool { return p.State == "running" }

// Results are the rows by what became of them.
func (p Progress) Results() map[string]int64 {
	return map[string]int64{
		"new": p.New, "updated": p.Updated, "skipped": p.Skipped, "invalid": p.Invalid, "duplicate": p.Duplicate,
	}
}

// The queues of an import, as its dead letters name them: the task queues of its steps.
const (
	QueueJobs        = "upload_jobs"
	QueueChunks      = "upload_chunks"
	QueuePersistence = "import_persistence"
)

// Bounds of an import.
const (
	MaxRows    = 20_000_000 // of a file
	MaxRefused = 1_000_000  // rows, where they are most of those that were read: columns are mistaken
)

// A Failure is why an upload cannot be imported, for the dead letter.
type Failure struct {
	Queue      string `json:"queue"` // one of the above: where it failed
	Class      string `json:"class"` // of the fault
	Reason     string `json:"reason"`
	WorkflowID string `json:"workflow_id"`
	RunID      string `json:"run_id"`
}
