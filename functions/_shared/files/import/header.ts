import {
  assign,
  type Facts,
  fieldsOfFile,
  kindOfNames,
  mappingOf,
  wantedFields,
} from "../../../../shared/import-fields.ts";
import type { ImportQuery } from "../../../../shared/imports.ts";
import type { Header } from "./rows.ts";

/** Reads and notes the header of a CSV file: one with a problem ends the import before anything is written. */
export function headerReader(query: ImportQuery, facts: Facts): (names: string[]) => Header {
  return (names) => {
    const kind = kindOfNames(names, query);
    const { shown, fields, repeated } = assign(names, query, kind);
    const wanted = wantedFields(query, kind);
    const hasNone = wanted.length > 0 && !wanted.some((field) => fields.includes(field));
    const header = {
      keys: fields,
      byField: { kind },
      lose: (index: number) => facts.column(shown[index] ?? "", false),
    };
    // What could be personal data is not stored as the name of a column.
    if (hasNone && names.some(isValue))
      return { ...header, problem: `looks like data; begin the file with a line of names: ${knownOf(query)}` };
    for (const [index, name] of names.entries())
      if (name.trim() !== "" || fields[index] !== undefined)
        facts.column(shown[index] ?? "", fields[index] !== undefined && fields[index] !== repeated);
    for (const field of wanted) facts.field(field, fields.includes(field) && field !== repeated);
    const lacking = [...mappingOf(query).keys()].find((name) => !shown.includes(name));
    if (lacking !== undefined) return { ...header, problem: `has no column "${lacking}", which columns maps` };
    if (repeated !== undefined) {
      const [one, other] = shown.filter((_, index) => fields[index] === repeated);
      return { ...header, problem: `has the columns "${one}" and "${other}" for ${repeated}; keep or map one of them` };
    }
    if (hasNone)
      return { ...header, problem: `has no column for ${wanted.join(" or ")}; name or map columns: ${knownOf(query)}` };
    return header;
  };
}

const knownOf = (query: ImportQuery) => fieldsOfFile(query).join(", ");

/** An address, a number, a time or a long text. */
const isValue = (cell: string) => cell.length > 60 || /@|^[\d\s.,:+/-]*\d[\d\s.,:+/TZ-]*$/.test(cell.trim());
