package api

import (
	"petstore.example/internal/api/jsonbody"
	"petstore.example/internal/catalog"
)

// petStatuses lists what catalog.ParseStatus accepts.
const petStatuses = "available, pending, sold"

// decodeNewPet reads the contract's NewPet.
func decodeNewPet(data []byte, strict bool) (catalog.NewPet, error) {
	o, err := jsonbody.Read(data, strict, "name", "categoryId", "status")
	if err != nil {
		return catalog.NewPet{}, err
	}
	o.Require("name")
	name := petName(o)
	o.Require("categoryId")
	category := o.Integer("categoryId")
	status := jsonbody.Enum(o, "status", catalog.ParseStatus, petStatuses)
	if err := o.Err(); err != nil {
		return catalog.NewPet{}, err
	}
	pet := catalog.NewPet{Name: *name, CategoryID: *category, Status: catalog.Available}
	if status != nil {
		pet.Status = *status
	}
	return pet, nil
}

// decodePetPatch reads a change to an animal: any members of a NewPet. No members at all change nothing.
func decodePetPatch(data []byte, strict bool) (catalog.PetPatch, error) {
	o, err := jsonbody.Read(data, strict, "name", "categoryId", "status")
	if err != nil {
		return catalog.PetPatch{}, err
	}
	change := catalog.PetPatch{
		Name: petName(o), CategoryID: o.Integer("categoryId"),
		Status: jsonbody.Enum(o, "status", catalog.ParseStatus, petStatuses),
	}
	return change, o.Err()
}

// petName returns the member name, nil if it is missing or not the name that an animal can have.
func petName(o *jsonbody.Object) *string {
	name := o.Text("name")
	if name == nil {
		return nil
	}
	if err := catalog.CheckName(*name); err != nil {
		o.Reject(err.Error())
		return nil
	}
	return name
}
