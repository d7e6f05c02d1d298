package api

import "petstore.example/internal/catalog"

// petStatuses names those that catalog.ParseStatus knows.
const petStatuses = "available, pending, sold"

// decodeNewPet reads the contract's NewPet. All that is wrong with its fields is said at once.
func decodeNewPet(data []byte, strict bool) (catalog.NewPet, error) {
	f, err := readFields(data, strict, "name", "categoryId", "status")
	if err != nil {
		return catalog.NewPet{}, err
	}
	f.require("name")
	name := f.name()
	f.require("categoryId")
	category := f.integer("categoryId")
	given := status(f, catalog.ParseStatus, petStatuses)
	if err := f.err(); err != nil {
		return catalog.NewPet{}, err
	}
	pet := catalog.NewPet{Name: *name, CategoryID: *category, Status: catalog.Available}
	if given != nil {
		pet.Status = *given
	}
	return pet, nil
}

// decodePetPatch reads a change to an animal: any of the members of a NewPet, and none at all changes nothing.
func decodePetPatch(data []byte, strict bool) (catalog.PetPatch, error) {
	f, err := readFields(data, strict, "name", "categoryId", "status")
	if err != nil {
		return catalog.PetPatch{}, err
	}
	change := catalog.PetPatch{
		Name: f.name(), CategoryID: f.integer("categoryId"), Status: status(f, catalog.ParseStatus, petStatuses),
	}
	return change, f.err()
}
