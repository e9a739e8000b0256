import { Icon } from "./icon.tsx";

type Props = {
  name?: string;
  /** Its name, and the text in it while it is empty. */
  label: string;
  value?: string | null | undefined;
  class?: string;
  autofocus?: boolean;
};

/** Words to search for: at most as many characters as the API takes. */
export const SearchField = ({
  name = "q",
  label,
  value,
  class: className = "search grow",
  autofocus,
}: Props) => (
  <label class={className}>
    <Icon name="search" />
    <input
      type="search"
      name={name}
      value={value ?? ""}
      maxlength={200}
      placeholder={label}
      aria-label={label}
      autofocus={autofocus}
    />
  </label>
);
