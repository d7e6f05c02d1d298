package audit_test

import (
	"encoding/json"
	"os"
	"regexp"
	"strings"
	"testing"
	"time"

	"petstore.example/internal/audit"
)

const docFile = "../../docs/audit.md"

// TestDocumentedHash holds the worked example of the document: the entry has the canonical form and the hash that are printed.
func TestDocumentedHash(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile(docFile)
	if err != nil {
		t.Fatal(err)
	}
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
	if err := json.Unmarshal([]byte(m[1]), &doc); err != nil {
		t.Fatal(err)
	}
	doc.Before = nil // null in the document
	e := doc.Entry
	e.ClaimedActor, e.TenantID = doc.ClaimedActor, doc.TenantID
	if got := string(e.Canonical()); got != m[2] {
		t.Errorf("canonical form\n%s\nwant\n%s", got, m[2])
	}
	if got := e.Sum().String(); got != doc.Hash {
		t.Errorf("hash %s, want %s", got, doc.Hash)
	}
}

// TestCanonicalIsUnambiguous: no two entries that differ have the same form, wherever a text ends and the next begins.
func TestCanonicalIsUnambiguous(t *testing.T) {
	t.Parallel()
	forms := map[string]audit.Entry{}
	for _, e := range []audit.Entry{
		{Number: 1}, {Number: 11}, {TenantID: 1}, {Subject: "1"}, {Login: "a"}, {Address: "a"}, {ClaimedActor: "a"}, {Action: "a"},
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
		if again := string(e.Canonical()); again != form {
			t.Errorf("%s, in another time zone %s", form, again)
		}
	}
}

func TestParseCheckpoint(t *testing.T) {
	t.Parallel()
	c := audit.Checkpoint{Number: 12, Hash: audit.Hash{1, 2, 255}}
	if got, err := audit.ParseCheckpoint(c.String()); err != nil || got != c {
		t.Errorf("%v: %v, %v", c, got, err)
	}
	hash := c.Hash.String()
	for _, text := range []string{"", "12", ":", "12:", "0:" + hash, "-1:" + hash, "x:" + hash, "12:" + hash[2:], "12:" + hash + "00", "12:" + strings.Repeat("x", 64)} {
		if got, err := audit.ParseCheckpoint(text); err == nil || got != (audit.Checkpoint{}) {
			t.Errorf("%q: %v, %v", text, got, err)
		}
	}
}
