// Imports the animals whose names it reads, and prints what became of each: import.mjs SOURCE.
import { createInterface } from "node:readline";
import { Petstore } from "../dist/esm/node.js";

async function* rows() {
  for await (const name of createInterface({ input: process.stdin })) yield { name, categoryId: 7 };
}

const onRow = ({ row, status, pet, error }) => console.log(row, status, pet?.id ?? error.message);
await Petstore.fromEnv().pets.importAll(rows(), { source: process.argv[2], concurrency: 4, onRow });
