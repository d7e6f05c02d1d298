// Imports so many rows from a source, and prints what became of each: import.mjs SOURCE COUNT.
import { Petstore } from "../dist/esm/node.js";

const [source, count] = process.argv.slice(2);

function* rows() {
  for (let i = 1; i <= Number(count); i++) yield { name: `Rex ${i}`, categoryId: 7 };
}

const onRow = ({ row, status, pet, error }) => console.log(row, status, pet?.id ?? error.message);
await Petstore.fromEnv().pets.importAll(rows(), { source, concurrency: 4, onRow });
