/**
 * The fields of a JSON object with their values: text, a list, a change as `from → to`, and other values as JSON. Each
 * change of an object of changes is a field.
 */
export const Details = ({ of }: { of: Record<string, unknown> }) => {
  const fields = Object.entries(of)
    // `changed` only lists the names of the fields in `changes`.
    .filter(([name]) => name !== "changed" || !isOfChanges(of.changes))
    .flatMap(([name, value]) => (isOfChanges(value) ? Object.entries(value) : [[name, value] as const]));
  return fields.length === 0 ? null : (
    <dl class="details">
      {fields.map(([name, value]) => (
        <div>
          <dt>{name}</dt>
          <dd>{isChange(value) ? `${written(value.from)} → ${written(value.to)}` : written(value)}</dd>
        </div>
      ))}
    </dl>
  );
};

const isObject = (value: unknown): value is Record<string, unknown> =>
  typeof value === "object" && value !== null && !Array.isArray(value);

const isChange = (value: unknown): value is { from: unknown; to: unknown } =>
  isObject(value) && Object.keys(value).sort().join() === "from,to";

const isOfChanges = (value: unknown): value is Record<string, unknown> =>
  isObject(value) && Object.keys(value).length > 0 && Object.values(value).every(isChange);

function written(value: unknown): string {
  if (value === null) return "–";
  if (typeof value === "string") return value;
  const isList = Array.isArray(value) && value.every((item) => typeof item === "string");
  return isList ? value.join(", ") : JSON.stringify(value);
}
