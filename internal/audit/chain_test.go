package audit_test

import (
	"encoding/json"
	"os"
	"regexp"
	"strings"
	"testing"
	"time"

	"petstore.example/internal/audit"
	"petstore.example/internal/test/assert"
)

const docFile = "../../docs/audit.md"

// TestDocumentedHash holds the worked example of the document: the entry has the canonical form and
// the hash that are printed.
func TestDocumentedHash(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile(docFile)
	assert.NoError(t, err)
	m := regexp.MustCompile("(?s)```json\n(.*?)```.*?```text\n(.*?)\n```").FindStringSubmatch(string(text))
	if m == nil {
		t.Fatalf("%s has no example", docFile)
	}
	var doc struct {
		audit.Entry
		ClaimedActor string `json:"claimed_actor"`
		TenantID     int64  `json:"tenant_id"`
		// Prev is zeros.
		Prev, Hash string
	}
	assert.NoError(t, json.Unmarshal([]byte(m[1]), &doc))
	doc.Before = nil // null in the document
	e := doc.Entry
	e.ClaimedActor, e.TenantID = doc.ClaimedActor, doc.TenantID
	assert.Equal(t, string(e.Canonical()), m[2], "canonical form")
	assert.Equal(t, e.Sum().String(), doc.Hash, "hash")
}

// TestCanonicalIsUnambiguous: no two entries that differ have the same form, wherever a text ends
// and the next begins.
func TestCanonicalIsUnambiguous(t *testing.T) {
	t.Parallel()
	forms := map[string]audit.Entry{}
	for _, e := range []audit.Entry{
		{Number: 1}, {Number: 11}, {TenantID: 1}, {Subject: "1"}, {Login: "a"}, {Address: "a"}, {ClaimedActor: "a"},
		{Action: "a"},
		{Login: "a", Address: "b"}, {Login: "ab"}, {Login: "1:a,"}, {Login: "a,1:b"}, {Before: json.RawMessage("{}")},
		{After: json.RawMessage("{}")}, {Reason: "{}"}, {Reason: "é"}, {Reason: "e\u0301"}, {Prev: audit.Hash{1}},
		{At: time.Unix(0, 1000)}, {At: time.Unix(1, 0)},
	} {
		form := string(e.Canonical())
		if other, ok := forms[form]; ok {
			t.Errorf("%+v and %+v have the form %s", e, other, form)
		}
		forms[form] = e
		// Time zones and the hash itself are no part of it.
		e.At, e.Hash = e.At.In(time.FixedZone("", 3600)), audit.Hash{1}
		assert.Equal(t, string(e.Canonical()), form)
	}
}

func TestParseCheckpoint(t *testing.T) {
	t.Parallel()
	c := audit.Checkpoint{Hash: audit.Hash{1, 2, 255}}
	for _, c.Number = range []int64{1, 12} {
		got, err := audit.ParseCheckpoint(c.String())
		assert.Result(t, got, err, c)
	}
	hash := c.Hash.String()
	for _, text := range []string{"", "12", ":", "12:", "0:" + hash, "-1:" + hash, "x:" + hash, "12:" + hash[2:],
		"12:" + hash + "00", "12:" + strings.Repeat("x", 64)} {
		if got, err := audit.ParseCheckpoint(text); err == nil || got != (audit.Checkpoint{}) {
			t.Errorf("%q: %v, %v", text, got, err)
		}
	}
}
