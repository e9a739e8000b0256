import { searchText } from "../../../shared/submissions.ts";
import { maxLengthOf } from "../limits-of-fields.ts";
import { Icon } from "./icon.tsx";

type Props = {
  name?: string;
  /** Its name, and the text in it while it is empty. */
  label: string;
  value?: string | null | undefined;
  class?: string;
  autofocus?: boolean;
};

/** A field for words to search for. */
export const SearchField = ({ name = "q", label, value, class: className = "search grow", autofocus }: Props) => (
  <label class={className}>
    <Icon name="search" />
    <input
      type="search"
      dir="auto"
      name={name}
      value={value ?? ""}
      maxlength={maxLengthOf(searchText)}
      placeholder={label}
      aria-label={label}
      autofocus={autofocus}
    />
  </label>
);
