import { useVisit } from "../../rendering.ts";
import { useForm } from "../form-state.ts";

type Props = { name: string; label: string; hint?: string | undefined; checked: boolean };

/** A checkbox with a hint. The form also sends it when it is not checked. */
export const CheckField = ({ name, label, hint, checked }: Props) => {
  const typed = useForm(useVisit()).refused?.typed.getAll(name).at(-1);
  return (
    <div class="check-field">
      <label class="check">
        <input type="hidden" name={name} value="false" />
        <input
          type="checkbox"
          name={name}
          value="true"
          checked={typed === undefined ? checked : typed === "true"}
          aria-describedby={hint && `${name}-hint`}
        />
        <span>{label}</span>
      </label>
      {hint && (
        <p class="hint" id={`${name}-hint`}>
          {hint}
        </p>
      )}
    </div>
  );
};
