package store

import (
	"fmt"

	"petstore.example/internal/usage/closing"
)

// lineSeal computes the root of sealed lines. The lines of a tenant that was erased count by the leaf that they had, and are compared with the
// hash of what they became.
type lineSeal struct {
	seal *closing.Seal
	// erased is how many tenants were erased.
	erased int64

	last  sealedLine // of a tenant that was erased
	forms []string   // of that tenant
}

func newLineSeal(seal *closing.Seal) *lineSeal { return &lineSeal{seal: seal} }

func (s *lineSeal) add(l sealedLine) error {
	if len(s.forms) > 0 && l.TenantID != s.last.TenantID {
		if err := s.endErased(); err != nil {
			return err
		}
	}
	if l.Leaf == nil {
		return s.seal.Add(l.TenantID, l.Form)
	}
	s.last, s.forms = l, append(s.forms, l.Form)
	return nil
}

// endErased adds the leaf of the tenant that was erased, or a wrong one if its lines were changed since.
func (s *lineSeal) endErased() error {
	leaf := closing.Leaf(s.forms)
	if string(leaf[:]) == string(s.last.Redacted) {
		leaf = closing.Hash(s.last.Leaf)
	}
	s.erased++
	s.forms = s.forms[:0]
	if err := s.seal.AddLeaf(s.last.TenantID, leaf); err != nil {
		return fmt.Errorf("lines of a tenant that was erased: %w", err)
	}
	return nil
}

func (s *lineSeal) root() (closing.Hash, int64, error) {
	if len(s.forms) > 0 {
		if err := s.endErased(); err != nil {
			return closing.Hash{}, 0, err
		}
	}
	return s.seal.Root()
}
