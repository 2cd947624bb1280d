// node:sqlite. There is no database in the host.
export default { [Symbol.for("pi.remedy")]: "keep data in a JSON file, or start the sqlite3 program" };
