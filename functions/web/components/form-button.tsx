import { Form } from "./form.tsx";

type Props = Omit<Parameters<typeof Form>[0], "submit" | "back"> & {
  /** Class of the button. */
  look?: string;
  /** What the button does, if its text does not say it. */
  label?: string;
};

/** A form that is one button; the problem of a refusal is shown elsewhere. */
export const FormButton = ({ look = "button", label, children, ...form }: Props) => (
  <Form hasProblem={false} {...form}>
    <button type="submit" class={look} aria-label={label}>
      {children}
    </button>
  </Form>
);
