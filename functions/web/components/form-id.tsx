/** In a form that makes a row: posted again by a double click, a reload or a browser's retry, it makes no second one. */
export const FormId = () => <input type="hidden" name="form_id" value={crypto.randomUUID()} />;
