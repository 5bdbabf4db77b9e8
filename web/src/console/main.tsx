import "../style/base.css";
