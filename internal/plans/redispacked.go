package plans

import (
	"encoding/binary"
	"math"
	"strconv"
)

const (
	packedNumber = 8
	// packedAsk is how long an ask is as take.lua reads it, packedState and packedOwn what it returns of a tenant and of a key.
	packedAsk   = 7 * packedNumber
	packedState = 7 * packedNumber
	packedOwn   = 3 * packedNumber
)

// packed returns the keys and the argument of take.lua.
func packed(term int64, asks []ask) (keys []string, args []byte) {
	keys = make([]string, 0, 2*len(asks))
	for i := range asks {
		keys = appendClaimKeys(keys, &asks[i].claim)
	}
	return keys, appendAsks(make([]byte, 0, packedNumber+packedAsk*len(asks)), term, asks)
}

func appendAsks(b []byte, term int64, asks []ask) []byte {
	b = appendPacked(b, term)
	for i := range asks {
		k := &asks[i]
		var again int64
		if k.again {
			again = 1
		}
		q := &k.claim.Quota
		b = appendPacked(b, k.minute, k.day, q.PerMinute, q.PerDay, k.claim.KeyPerMinute, k.count, again)
	}
	return b
}

// read takes the answers from a reply of take.lua: what Redis had before each of them.
func read(reply []byte, term int64, asks []ask) error {
	for i := range asks {
		k := &asks[i]
		size := packedState
		if k.claim.KeyPerMinute > 0 {
			size += packedOwn
		}
		if len(reply) < size {
			return errUnexpected
		}
		k.answer = k.answered(term, reply[:size])
		reply = reply[size:]
	}
	if len(reply) > 0 {
		return errUnexpected
	}
	return nil
}

// answered decides over the ask as take.lua did, from what it returned.
func (k *ask) answered(term int64, was []byte) answer {
	if number(was, 0) != term {
		return answer{status: unopened}
	}
	a := answer{version: number(was, 1), inMinute: number(was, 2), inDay: number(was, 4)}
	a.used.minute, a.used.day = number(was, 3), number(was, 5)
	if a.inMinute < k.minute {
		a.inMinute, a.used.minute = k.minute, 0
	}
	if a.inDay < k.day {
		a.inDay, a.used.day = k.day, 0
	}
	if k.claim.KeyPerMinute > 0 {
		if own := was[packedState:]; number(own, 0) == term && number(own, 1) == a.inMinute {
			a.used.key = number(own, 2)
		} else if number(was, 6) == a.inMinute {
			return answer{status: keyUnopened}
		}
	}
	return a
}

// number returns the i-th of packed numbers.
func number(packed []byte, i int) int64 {
	return int64(math.Float64frombits(binary.LittleEndian.Uint64(packed[packedNumber*i:])))
}

// pack packs numbers as the scripts read them. What is beyond 2^53 is rounded, which only limits are that nobody reaches.
func pack(numbers ...int64) []byte {
	return appendPacked(make([]byte, 0, packedNumber*len(numbers)), numbers...)
}

func appendPacked(b []byte, numbers ...int64) []byte {
	for _, n := range numbers {
		b = binary.LittleEndian.AppendUint64(b, math.Float64bits(float64(n)))
	}
	return b
}

func tenantKey(tenantID int64) string {
	return string(appendTenant(make([]byte, 0, 32), tenantID))
}

// ownInfix is between the name of a tenant's state and the id of its key.
const ownInfix = ":k:"

// ownKey names a key's own minute: with its tenant, so that a cluster has them on one node, where a script reaches both.
func ownKey(tenantID int64, keyID string) string {
	b := append(appendTenant(make([]byte, 0, 64), tenantID), ownInfix...)
	return string(append(b, keyID...))
}

func appendClaimKeys(keys []string, c *Claim) []string {
	keys = append(keys, tenantKey(c.TenantID))
	if c.KeyPerMinute > 0 {
		keys = append(keys, ownKey(c.TenantID, c.KeyID))
	}
	return keys
}

func appendTenant(b []byte, tenantID int64) []byte {
	b = append(b, "pst:{"...)
	b = strconv.AppendInt(b, tenantID, 10)
	return append(b, '}')
}
