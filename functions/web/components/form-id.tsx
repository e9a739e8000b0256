/** Idempotency key of a form: a double click, a reload or a browser's retry creates no second row. */
export const FormId = () => <input type="hidden" name="form_id" value={crypto.randomUUID()} />;
