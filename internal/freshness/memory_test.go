package freshness

import (
	"testing"
	"time"

	"petstore.example/internal/test/assert"
)

// fixture is a Memory on a clock of its own.
type fixture struct {
	*Memory
	term      int64
	since, at time.Time
}

func newFixture() *fixture {
	f := &fixture{term: 1, at: time.Unix(1e9, 0)}
	f.Memory = NewMemory(func() (int64, time.Time, bool) { return f.term, f.since, f.term != 0 })
	f.now = func() time.Time { return f.at }
	return f
}

func (f *fixture) begin(t *testing.T) *Write {
	t.Helper()
	w, err := f.BeginWrite(t.Context(), 1, Changes)
	assert.NoError(t, err)
	return w
}

// TestMemoryStamps: a catalogue has no stamp while it is written to, and afterwards one that it
// never had.
func TestMemoryStamps(t *testing.T) {
	t.Parallel()
	f, had := newFixture(), map[Stamp]bool{}
	fresh := func(what string) {
		t.Helper()
		s := f.Stamp(1)
		assert.True(t, s != 0 && !had[s] && s == f.Stamp(1), what, "stamp", s, "then", f.Stamp(1), "it had", had)
		had[s] = true
	}
	none := func(what string) {
		t.Helper()
		assert.Equal(t, f.Stamp(1), 0, what, "stamp")
	}
	other := f.Stamp(2)
	fresh("at first")
	first, second := f.begin(t), f.begin(t)
	none("during two writes")
	_ = first.Commit()
	_ = first.Commit() // does nothing
	none("during one of them")
	_ = second.Commit()
	fresh("after both")
	f.begin(t).Abandon()
	none("after a write whose outcome nobody knows")
	f.at = f.at.Add(WriteIntentTTL)
	fresh("when it is surely over")
	assert.Equal(t, f.Stamp(2), other, "another catalogue's stamp")

	write := f.begin(t)
	f.at = f.at.Add(forgetEvery)
	_ = f.begin(t).Commit()
	none("when others are forgotten")
	_ = write.Commit()
	fresh("after that write")
	f.at = f.at.Add(forgetEvery)
	_, err := f.BeginWrite(t.Context(), 1+shards, Changes)
	assert.NoError(t, err)
	fresh("when it was forgotten")
	assert.Equal(t, len(f.shard(1).written), 1, "catalogues are remembered")
}

// TestMemoryStampsOfWhatWasThere: additions leave the stamp of the animals that are there, whether
// they are under way, made, or of unknown outcome.
func TestMemoryStampsOfWhatWasThere(t *testing.T) {
	t.Parallel()
	f := newFixture()
	_ = f.begin(t).Commit()
	_, had := f.Stamps(1)
	for _, tt := range []struct {
		kind Kind
		end  func(*Write)
		same bool
	}{
		{Adds, (*Write).Abandon, true},
		{Adds, func(w *Write) { _ = w.Commit() }, true},
		{Changes, func(w *Write) { _ = w.Commit() }, false},
		{Adds, (*Write).Abandon, true},
		{Changes, (*Write).Abandon, false},
	} {
		w, err := f.BeginWrite(t.Context(), 1, tt.kind)
		assert.NoError(t, err)
		_, during := f.Stamps(1)
		tt.end(w)
		_, after := f.Stamps(1)
		if during == had != tt.same || after == had != tt.same || !tt.same && during != 0 {
			t.Errorf("%+v: %d, then %d, after %d", tt, had, during, after)
		}
		had = after
	}
	assert.Equal(t, had, 0, "after a change whose outcome is unknown")
	f.at = f.at.Add(WriteIntentTTL)
	current, existing := f.Stamps(1)
	assert.True(t, current != 0 && existing != 0, current, existing)
	f.term = 0
	_, existing = f.Stamps(1)
	assert.Equal(t, existing, 0, "while it is not the only server")
}

// TestMemoryStampsOfTerms: a server that has just become the only one waits until the writes of the
// others are over.
func TestMemoryStampsOfTerms(t *testing.T) {
	t.Parallel()
	f := newFixture()
	first := f.Stamp(1)
	assert.True(t, first != 0, "none while it is the only server")
	f.term = 0
	assert.Equal(t, f.Stamp(1), 0, "stamp while it is not")
	f.term, f.since = 3, f.at
	f.at = f.at.Add(WriteIntentTTL)
	assert.Equal(t, f.Stamp(1), 0, "stamp while writes of others may be under way")
	f.term, f.since = 5, f.at.Add(-1)
	f.at = f.since.Add(WriteIntentTTL + 1)
	if s := f.Stamp(1); s == 0 || s == first {
		t.Errorf("the first stamp, long after it became the only one again, is %d, want another than %d", s, first)
	}
}
