declare module "@hotwired/turbo";
